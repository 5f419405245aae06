"""How routes that read their body themselves describe it in /openapi.json."""

from typing import Any

BODIES: dict[str, type] = {}
"""Bodies that the framework has not met, by name."""


def takes(model: type) -> dict[str, Any]:
    """Say that a route takes this as JSON."""
    BODIES[model.__name__] = model
    return {
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {"schema": {"$ref": f"#/components/schemas/{model.__name__}"}}
            },
        }
    }

"""How routes that read their body themselves describe it in /openapi.json."""

from typing import Any

BODIES: dict[str, type] = {}
"""Bodies that the framework has not met, by name."""


def takes(*models: type) -> dict[str, Any]:
    """Say that a route takes this as JSON; or, of several, any one of them."""
    BODIES.update({model.__name__: model for model in models})
    named = [{"$ref": f"#/components/schemas/{model.__name__}"} for model in models]
    return {
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {"schema": named[0] if len(named) == 1 else {"anyOf": named}}
            },
        }
    }

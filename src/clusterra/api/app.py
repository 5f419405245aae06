"""The HTTP door, put together."""

from typing import Any

from fastapi import FastAPI
from pydantic import TypeAdapter
from starlette.types import ASGIApp

from clusterra import __version__
from clusterra.api import problems
from clusterra.api.catalogue import event_schemas, live_operation, told_of
from clusterra.api.door import COOKIE, Door
from clusterra.api.metrics import RequestMetrics
from clusterra.api.objects import Objects
from clusterra.api.openapi import BODIES
from clusterra.api.rights import deed_of
from clusterra.api.routes import (
    api_routes,
    artifacts,
    audit,
    auth,
    automations,
    clusters,
    diagnosis,
    events,
    files,
    fleet,
    jobs,
    keys,
    ledger,
    output,
    pages,
    prices,
    quotas,
    schedules,
    server,
    templates,
    usage,
    users,
    webhooks,
    why,
    workflows,
    workspaces,
)
from clusterra.api.routes.agent import Edges
from clusterra.api.routes.internal import Internal
from clusterra.api.sse import ROUTE, LiveEvents
from clusterra.api.straight import Straight
from clusterra.control.plane import Plane
from clusterra.core.access import Deed
from clusterra.wire.events import TooOldProblem
from clusterra.wire.problem import Problem

ROUTES = (
    clusters,
    fleet,
    prices,
    jobs,
    output,
    why,
    diagnosis,
    artifacts,
    usage,
    events,
    files,
    ledger,
    keys,
    auth,
    users,
    workspaces,
    quotas,
    webhooks,
    automations,
    templates,
    workflows,
    api_routes,
    schedules,
    audit,
    server,
    pages,
)


def make_app(plane: Plane) -> ASGIApp:
    app = describe()
    app.state.plane = plane
    app.state.metrics = RequestMetrics()
    app.state.limits = {}
    metrics = app.state.metrics
    inside: ASGIApp = LiveEvents(Straight(app, jobs.STRAIGHT), plane)
    inside = Objects(Door(inside, plane, metrics), plane)
    # Outermost what is asked most often, and is let in by a key.
    return Internal(Edges(inside, plane, metrics), plane, metrics)


def describe() -> FastAPI:
    """Return the routes without a plane behind them: enough for /openapi.json."""
    app = FastAPI(
        title="Clusterra",
        version=__version__,
        summary="An open control plane for Slurm.",
        docs_url=None,
        redoc_url=None,
    )
    problems.install(app)
    for routes in ROUTES:
        app.include_router(routes.router)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    return app


def _openapi(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        schema = FastAPI.openapi(app)
        schemas = schema["components"]["schemas"]
        for body in (*BODIES.values(), Problem, TooOldProblem):
            made = TypeAdapter(body).json_schema(ref_template="#/components/schemas/{model}")
            schemas.update(made.pop("$defs", {}))
            schemas[body.__name__] = made
        schemas.update(event_schemas())
        schema["webhooks"] = told_of()
        listing = schema["paths"]["/v1/clusters/{cluster}/events"]["get"]
        schema["paths"][ROUTE.path] = {"get": live_operation(listing)}
        schema["components"]["securitySchemes"] = {
            "token": {"type": "http", "scheme": "bearer"},
            "session": {"type": "apiKey", "in": "cookie", "name": COOKIE},
        }
        schema["security"] = [{"token": []}, {"session": []}]
        for path, operations in schema["paths"].items():
            for method, operation in operations.items():
                if deed_of(method.upper(), path) is Deed.PASS:
                    operation["security"] = []
                operation["responses"].pop("422", None)
                operation["responses"]["default"] = {
                    "description": "What went wrong, and what to do next.",
                    "content": {
                        "application/problem+json": {
                            "schema": {"$ref": "#/components/schemas/Problem"}
                        }
                    },
                }
        for unused in ("HTTPValidationError", "ValidationError"):
            schemas.pop(unused, None)
        app.openapi_schema = schema
    return app.openapi_schema

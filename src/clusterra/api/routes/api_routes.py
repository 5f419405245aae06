"""The routes by name, for programs that draw a palette of them."""

from collections.abc import Iterator

from fastapi import APIRouter, Request
from starlette.responses import Response

from clusterra.api import body
from clusterra.api.admit import Guarded
from clusterra.wire.templates import RouteList, RouteView

router = APIRouter(prefix="/v1/api-routes", tags=["server"], route_class=Guarded)

_LEFT_OUT = ("/v1/internal/", "/v1/auth", "/v1/launchables")
_RESERVED = ("api", "init", "watch_job")
"""What a client of ours calls its own."""


@router.get("", response_model=RouteList)
async def list_routes(request: Request) -> Response:
    """List what can be asked here, each with a name, as older clients expect it."""
    schema = request.app.openapi()
    return body.json(RouteList(routes=list(_routes(schema["paths"]))))


def _routes(paths: dict[str, dict[str, dict[str, object]]]) -> Iterator[RouteView]:
    taken = set(_RESERVED)
    for path, operations in sorted(paths.items()):
        if path.startswith(_LEFT_OUT) or not path.startswith("/v1/"):
            continue
        for method in sorted(operations):
            name = _name(path, method)
            assert name not in taken, f"two routes are called {name}"
            taken.add(name)
            yield RouteView(
                name=name,
                method=method.upper(),
                # What clients know their cluster by.
                path=path.replace("{cluster}", "{cluster_id}"),
                stream=path.endswith("/stream"),
            )


def _name(path: str, method: str) -> str:
    """Return a name of the path's own words: `get_cluster_jobs_job_id_output`."""
    words = path.removeprefix("/v1/").replace("clusters/{cluster}/", "cluster/").split("/")
    plain = "_".join(word.strip("{}").replace("-", "_") for word in words)
    return f"{method.lower()}_{plain}"

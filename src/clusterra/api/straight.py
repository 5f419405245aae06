"""Routes that are walked past the framework.

FastAPI takes 0.17 ms to find a route and the parameters it has: nothing to a person,
and a quarter of what we add to handing a job to Slurm. A route that reads its body
itself needs none of that. It is declared to FastAPI like every other, which describes it
in /openapi.json, and is called from here with the same arguments and the same errors.
"""

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import compile_path
from starlette.types import Receive, Scope, Send

from clusterra.api import problems
from clusterra.api.admit import admit
from clusterra.api.rights import deed_of
from clusterra.core.access import Deed
from clusterra.core.errors import ClusterraError

Endpoint = Callable[..., Awaitable[Response]]
"""Takes the request, and what the path says by name."""


@dataclass(frozen=True, slots=True)
class StraightRoute:
    method: str
    path: str
    endpoint: Endpoint
    pattern: re.Pattern[str] = field(init=False)
    deed: Deed = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "pattern", compile_path(self.path)[0])
        object.__setattr__(self, "deed", deed_of(self.method, self.path))


class Straight:
    """Answers the routes it is given, and leaves all others to the framework."""

    def __init__(self, app: FastAPI, routes: Sequence[StraightRoute]) -> None:
        self._app = app
        self._routes = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        for route in self._routes:
            if scope.get("method") != route.method:
                continue
            if found := route.pattern.match(scope["path"]):
                # What the framework sets for its own routes, for those who read it there.
                scope["app"], scope["route"] = self._app, route
                response = await _answer(route, Request(scope, receive), found.groupdict())
                return await response(scope, receive, send)
        return await self._app(scope, receive, send)


async def _answer(route: StraightRoute, request: Request, named: dict[str, str]) -> Response:
    try:
        admit(request, request.app.state.plane, route.deed, named)
        return await route.endpoint(request, **named)
    except ClusterraError as error:
        return problems.respond(error)
    except Exception as error:  # noqa: BLE001 - whatever it is, it must become an answer
        return await problems.unexpected(request, error)

"""What every request passes: the token is checked, the time is taken.

A plain ASGI layer, because it stands in the way of every request.
"""

import time

import structlog
from starlette.requests import HTTPConnection, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from clusterra.api import auth, problems
from clusterra.api.metrics import RequestMetrics
from clusterra.control.site import Site
from clusterra.core.access import Caller
from clusterra.core.errors import Unauthenticated
from clusterra.wiring import Plane

log = structlog.get_logger()

OPEN = frozenset({"/healthz", "/readyz", "/openapi.json"})
"""Answered to anybody: nothing about anybody is in them."""

SERVERS_SEND = "clusterra.send"
"""Where in the scope the server's own `send` is kept, for streams that write often."""


def plane_of(request: Request) -> Plane:
    plane: Plane = request.app.state.plane
    return plane


def caller_of(request: Request, site: Site) -> Caller:
    return auth.caller(request, site.user)


class Door:
    def __init__(self, app: ASGIApp, plane: Plane, metrics: RequestMetrics) -> None:
        self._app = app
        self._plane = plane
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        status = 0
        scope[SERVERS_SEND] = send

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            if scope["path"] not in OPEN:
                auth.check_token(HTTPConnection(scope), self._plane.token)
            await self._app(scope, receive, sending)
        except Unauthenticated as error:
            await problems.respond(error)(scope, receive, sending)
        except Exception as error:
            if status == 0:
                await (await problems.unexpected(Request(scope), error))(scope, receive, sending)
            elif status != 500:
                raise
            # The framework has answered and logged it, and raises it once more for servers
            # that have not.
        finally:
            route = getattr(scope.get("route"), "path", "none")
            self._metrics.note(route, scope["method"], status or 500, time.perf_counter() - began)

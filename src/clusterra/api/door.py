"""What every request passes: who it is is found out, and the time is taken.

A plain ASGI layer, because it stands in the way of every request. Here are also the
things that no route should have to think of: a token in an address, where it would stay
in logs and histories; a page of somebody else that makes a browser act with its cookie;
somebody who tries one token after another.
"""

import re
import time
from urllib.parse import urlsplit

import structlog
from starlette.datastructures import Headers
from starlette.requests import Request, cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from clusterra.api import problems
from clusterra.api.admit import GUEST
from clusterra.api.guest import Guest, Guests, nobody
from clusterra.api.limits import Failures
from clusterra.api.metrics import RequestMetrics
from clusterra.api.rights import PUBLIC
from clusterra.control.people.doing import Visit
from clusterra.control.plane import Plane
from clusterra.core.errors import ClusterraError, Forbidden, Malformed, Unauthenticated

log = structlog.get_logger()

COOKIE = "clusterra_session"

SERVERS_SEND = "clusterra.send"
"""Where in the scope the server's own `send` is kept, for streams that write often."""

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_SECRET_IN_ADDRESS = re.compile(rb"(?:^|&)(?:access_token|token|api_key|refresh_token)=|cl[tk]_")
_LONGEST_AGENT = 256
GUESSES = 30
"""Refused tokens a minute from one address, after which it is only told to wait."""


def plane_of(request: Request) -> Plane:
    plane: Plane = request.app.state.plane
    return plane


def visit_of(scope: Scope, *, behind_proxy: bool) -> Visit:
    headers = Headers(scope=scope)
    address = (scope.get("client") or ("",))[0]
    if behind_proxy and (forwarded := headers.get("x-forwarded-for")):
        # The last one was added by the proxy that talks to us; those before it, by anybody.
        address = forwarded.rpartition(",")[2].strip()
    return Visit(address=address[:64], agent=headers.get("user-agent", "")[:_LONGEST_AGENT])


def check_address(scope: Scope) -> None:
    """Raise Malformed if a token or key stands in the address."""
    if _SECRET_IN_ADDRESS.search(scope["query_string"]):
        raise Malformed(
            "A token in an address is seen by logs and histories; it is not taken there.",
            hint="Send it as `Authorization: Bearer <token>`, and make a new one: this one "
            "has been seen.",
            code="token-in-url",
        )


class Door:
    def __init__(self, app: ASGIApp, plane: Plane, metrics: RequestMetrics) -> None:
        self._app = app
        self._plane = plane
        self._metrics = metrics
        self._guests = Guests(people=plane.people, operator_token=plane.token)
        self._failures = Failures(plane.clock, most=GUESSES)
        self._behind_proxy = plane.settings.server.behind_proxy
        self._host = _host_of(plane.settings.server.url)

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
            if not self._plane.is_open:
                await self._plane.open()
            self._let_in(scope)
            await self._app(scope, receive, sending)
        except ClusterraError as error:
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

    def _let_in(self, scope: Scope) -> None:
        """Find out who asks, and keep out what nobody may ask."""
        check_address(scope)
        visit = visit_of(scope, behind_proxy=self._behind_proxy)
        public = PUBLIC.fullmatch(scope["path"]) is not None
        guest = self._guest(scope, visit, public=public)
        if guest is None and not public:
            raise nobody()
        self._check_origin(scope, guest)
        scope[GUEST] = guest

    def _guest(self, scope: Scope, visit: Visit, *, public: bool) -> Guest | None:
        headers = Headers(scope=scope)
        try:
            return self._guests.known(
                authorization=headers.get("authorization", ""),
                cookie=cookie(headers, COOKIE),
                visit=visit,
            )
        except Unauthenticated:
            if public and not headers.get("authorization"):
                return None  # a cookie that has run out is as good as none
            self._failures.check(visit.address)
            self._failures.note(visit.address)
            raise

    def _check_origin(self, scope: Scope, guest: Guest | None) -> None:
        """Refuse an act that a page of another site has a browser do."""
        headers = Headers(scope=scope)
        if scope["method"] in _SAFE or headers.get("authorization"):
            return
        origin = headers.get("origin")
        if origin is None:
            ours = (
                guest is None or not guest.cookie or headers.get("sec-fetch-site") == "same-origin"
            )
        else:
            host = self._host or _host_of(f"//{headers.get('host', '')}")
            ours = host != "" and _host_of(origin) == host
        if not ours:
            raise Forbidden(
                f"This request was made by a page of {origin or 'an unknown site'}, not by us.",
                hint="Programs send `Authorization: Bearer <token>` instead of a cookie.",
                code="cross-site",
            )


def cookie(headers: Headers, name: str) -> str:
    if name not in (sent := headers.get("cookie", "")):
        return ""
    # Not the standard library's parser: it drops every cookie when another application on this
    # host has set one that it does not like.
    return cookie_parser(sent).get(name, "")


def _host_of(address: str) -> str:
    """Return host and port of an address the way browsers name them; empty if it has none."""
    try:
        parts = urlsplit(address)
        usual = {"http": 80, "https": 443}.get(parts.scheme)
        port = "" if parts.port in (None, usual) else f":{parts.port}"
    except ValueError:
        return ""
    return f"{parts.hostname}{port}" if parts.hostname else ""

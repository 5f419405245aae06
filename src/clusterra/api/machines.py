"""What the doors for machines share: a cluster's key instead of a person, and plain ASGI.

Nothing else here is asked as often as what machines say, so their doors stand before the
framework and answer by themselves. A key belongs to one cluster and is looked up by its
hash; whoever shows it is nobody. An unknown cluster is said to be unknown before any key is
looked at, since installers ask just that.
"""

import time
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from clusterra.api import problems
from clusterra.api.door import GUESSES, check_address, visit_of
from clusterra.api.limits import Failures
from clusterra.api.metrics import RequestMetrics
from clusterra.control.people.doing import Visit
from clusterra.control.plane import Plane
from clusterra.core.errors import ClusterraError, NotFound, TooLarge, Unauthenticated
from clusterra.core.people.credentials import ClusterKey, KeyUse, hash_of

Headers = dict[bytes, bytes]

NOT_POSTED = "method-not-allowed"

_JSON = [(b"content-type", b"application/json")]


class Gone(Exception):
    """Whoever asked has hung up: there is nobody to answer."""


class Machines:
    def __init__(self, plane: Plane, metrics: RequestMetrics) -> None:
        self.plane = plane
        self._metrics = metrics
        self.failures = Failures(plane.clock, most=GUESSES)

    async def answer(
        self, route: str, scope: Scope, send: Send, take: Callable[[], Awaitable[bytes]]
    ) -> None:
        """Send what `take` returns, with 200; or what it raises, with what that is in HTTP."""
        began = time.perf_counter()
        try:
            await self._check(scope)
            body = await take()
            status, headers = 200, [*_JSON, (b"content-length", b"%d" % len(body))]
        except Gone:
            return
        except ClusterraError as error:
            refusal = problems.respond(error, 405 if error.code == NOT_POSTED else 0)
            status, headers, body = _parts(refusal)
        except Exception as error:  # noqa: BLE001 - said in the log, and to whoever asked
            refusal = await problems.unexpected(Request(scope), error)
            status, headers, body = _parts(refusal)
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})
        self._metrics.note(route, scope["method"], status, time.perf_counter() - began)

    async def _check(self, scope: Scope) -> None:
        if scope["method"] != "POST":
            raise NotFound(
                f"{scope['method']} {scope['path']} is not something this server does.",
                hint="Send it with POST.",
                code=NOT_POSTED,
            )
        check_address(scope)
        if not self.plane.is_open:
            await self.plane.open()

    def visit(self, scope: Scope) -> Visit:
        return visit_of(scope, behind_proxy=self.plane.settings.server.behind_proxy)

    def known_key(self, headers: Headers) -> ClusterKey | None:
        """Return the key that is shown, whosever it is."""
        # Looked up by its hash, so that a near miss takes as long as any other.
        return self.plane.people.directory.key(hash_of(shown_key(headers)))

    def check_key(
        self, cluster: str, headers: Headers, visit: Visit, *, use: KeyUse | None = None
    ) -> None:
        """Raise NotFound or Unauthenticated unless a key of this cluster is shown, for this use."""
        if cluster not in self.plane.sites:
            raise NotFound(
                f"There is no cluster {cluster[:64]!r} here.",
                hint="Check its id; `clusterra clusters list` shows it.",
                code="cluster-not-found",
            )
        whose = f"the {use}'s key" if use else "the key"
        file = f"keys/{cluster}.agent.key" if use is KeyUse.AGENT else f"keys/{cluster}.key"
        make = f"`clusterra keys create{f' --for {use}' if use else ''}`"
        if not shown_key(headers):
            raise Unauthenticated(
                f"This call needs {whose} of the cluster and came without one.",
                hint="Send `Authorization: Bearer <key>` or `X-Agent-Key: <key>`; the key is in"
                f" {file} in the server's state directory, or is made with {make}.",
            )
        key = self.known_key(headers)
        if key is None or key.cluster != cluster or (use and key.use is not use):
            self.refuse_guess(visit)
            raise Unauthenticated(
                f"This is not {whose} of the cluster {cluster}.",
                hint=f"Copy {file} from the server's state directory again, or make"
                f" one with {make}.",
                code="bad-key",
            )
        self.plane.people.uses.note(key, visit)

    def refuse_guess(self, visit: Visit) -> None:
        """Count one more that was wrong; raise Busy after too many."""
        self.failures.check(visit.address)
        self.failures.note(visit.address)


def word(headers: Headers, name: bytes) -> str:
    return headers.get(name, b"").decode("latin-1")


async def read_body(headers: Headers, receive: Receive, *, most: int, hint: str) -> bytes:
    """Return the body; raise TooLarge, without reading it, if it says that it is."""
    declared = headers.get(b"content-length", b"")
    size, read = int(declared) if declared.isdigit() else 0, 0
    chunks: list[bytes] = []
    while size <= most:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Gone
        chunks.append(message.get("body", b""))
        read += len(chunks[-1])
        size = max(size, read)
        if not message.get("more_body"):
            break
    if size > most:
        raise TooLarge(
            f"The request has {size:,} bytes; {most:,} are taken at a time.",
            hint=hint,
            code="body-too-large",
        )
    return b"".join(chunks)


def shown_key(headers: Headers) -> str:
    scheme, _, token = word(headers, b"authorization").partition(" ")
    given = token.strip() if scheme.lower() == "bearer" else ""
    return given or word(headers, b"x-agent-key")


def _parts(refusal: Response) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    return refusal.status_code, refusal.raw_headers, bytes(refusal.body)

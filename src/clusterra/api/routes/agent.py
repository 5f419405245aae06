"""The door for edges: the heartbeat of a cluster's agent, and machines that are not what they seem.

Plain ASGI, answered before the framework. A heartbeat is answered 200 or it is not answered
with orders: an agent takes whatever else comes for "change nothing", and an empty 200 for
"stop every worker".

Machines that find out that they are of the wrong class say so without a key, because the
shell that calls loses it. They are believed as far as the agent has told of them.
"""

import asyncio
import hashlib
import re
from collections.abc import Coroutine

import msgspec
from starlette.types import ASGIApp, Receive, Scope, Send

from clusterra.api.heartbeat import offerings_in, orders_of, read_heartbeat, report_of
from clusterra.api.lenient import Unreadable, members, read_as
from clusterra.api.machines import Gone, Headers, Machines, read_body, shown_key
from clusterra.api.metrics import RequestMetrics
from clusterra.control.edge import Wanted
from clusterra.control.heartbeat import Heartbeats
from clusterra.control.people.doing import Visit
from clusterra.control.plane import Plane, no_such_cluster
from clusterra.core.errors import Invalid, NotFound, TooLarge, Unauthenticated
from clusterra.core.people.credentials import KeyUse
from clusterra.wire.agent import Heartbeat, Misclassified

HEARTBEAT = "/v1/internal/agent/heartbeat"
MISCLASSIFIED = "/v1/internal/clusters/{cluster}/node-misclassified"

LARGEST = 16 << 20
"""Price tables have thousands of rows and come with every heartbeat."""

STRANGERS = 1 << 20
"""The most that is read of somebody whose key nobody has."""

SMALL = 16 << 10
_LONGEST_WORD = 256
_MISCLASSIFIED = re.compile(re.escape(MISCLASSIFIED).replace(r"\{cluster\}", "([^/]+)"))


class Edges:
    """Answers agents and their machines, and passes everything else on."""

    def __init__(self, app: ASGIApp, plane: Plane, metrics: RequestMetrics) -> None:
        self._app = app
        self._plane = plane
        self._machines = Machines(plane, metrics)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"] if scope["type"] == "http" else ""
        answer = self._machines.answer
        if path == HEARTBEAT:
            await answer(HEARTBEAT, scope, send, lambda: self._beat(scope, receive))
        elif match := _MISCLASSIFIED.fullmatch(path):
            cluster = match[1]
            await answer(
                MISCLASSIFIED, scope, send, lambda: self._misclassified(cluster, scope, receive)
            )
        else:
            await self._app(scope, receive, send)

    async def _beat(self, scope: Scope, receive: Receive) -> bytes:
        headers, visit = dict(scope["headers"]), self._machines.visit(scope)
        heartbeat, prices = read_heartbeat(await self._body(headers, receive, visit))
        cluster = heartbeat.cluster_id
        self._machines.check_key(cluster, headers, visit, use=KeyUse.AGENT)
        beats = self._plane.heartbeats[cluster]
        report = report_of(heartbeat, address=visit.address, now=self._plane.clock.now())
        beats.hear(report, key=shown_key(headers))
        if prices and not beats.knows_prices(digest := hashlib.sha256(prices).digest()):
            beats.price(digest, offerings_in(prices))
        wanted = await _unless_gone(_asked(beats, heartbeat), receive)
        return orders_of(wanted, beats.site, slurm_key_hash=heartbeat.slurm_key_hash)

    async def _body(self, headers: Headers, receive: Receive, visit: Visit) -> bytes:
        stranger = self._machines.known_key(headers) is None
        most = STRANGERS if stranger else LARGEST
        try:
            hint = "Send fewer prices: those of the machines that this cluster can use."
            return await read_body(headers, receive, most=most, hint=hint)
        except TooLarge:
            if not stranger:
                raise
            self._machines.refuse_guess(visit)
            raise Unauthenticated(
                f"More than {STRANGERS:,} bytes are read of nobody without the key of a cluster.",
                hint="Send `X-Agent-Key: <key>`; one is made with `clusterra keys create"
                " --for agent`.",
                code="bad-key",
            ) from None

    async def _misclassified(self, cluster: str, scope: Scope, receive: Receive) -> bytes:
        visit, plane = self._machines.visit(scope), self._plane
        self._machines.failures.check(visit.address)
        hint = "Send `node`, `instance_type`, `expected` and `actual`, and nothing else."
        body = await read_body(dict(scope["headers"]), receive, most=SMALL, hint=hint)
        try:
            told = read_as(Misclassified, members(body))
            if cluster not in plane.sites:
                raise no_such_cluster(cluster)
            draft = plane.heartbeats[cluster].misclassified(
                told.node,
                instance_type=told.instance_type[:_LONGEST_WORD],
                expected=told.expected[:_LONGEST_WORD],
                actual=told.actual[:_LONGEST_WORD],
            )
        except NotFound:
            # Whoever tries out names is only told to wait, after a while.
            self._machines.failures.note(visit.address)
            raise
        except Unreadable as missing:
            raise Invalid(
                f"This does not say which {missing} is meant.", hint=hint, at=str(missing)
            ) from None
        await plane.inboxes[cluster].hear([draft])
        return msgspec.json.encode({"ack": True})


async def _asked(beats: Heartbeats, heartbeat: Heartbeat) -> Wanted:
    protected = heartbeat.protected_nodes
    return await beats.wanted(
        applied=heartbeat.last_applied_version,
        protected=None if protected is None else frozenset(protected),
        wait=heartbeat.wait_seconds,
    )


async def _unless_gone(asking: Coroutine[None, None, Wanted], receive: Receive) -> Wanted:
    """Wait for the answer as long as whoever asked does."""
    answer = asyncio.ensure_future(asking)
    hangup = asyncio.ensure_future(_hangup(receive))
    try:
        await asyncio.wait((answer, hangup), return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            raise Gone
        return answer.result()
    finally:
        for task in (answer, hangup):
            task.cancel()
        await asyncio.gather(answer, hangup, return_exceptions=True)


async def _hangup(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass

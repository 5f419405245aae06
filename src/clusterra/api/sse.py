"""Events as they happen: `GET /v1/clusters/{cluster}/events/stream`.

Starts after `Last-Event-ID`, or `after`, or at the present, and takes the filters of the
list. `id` is the sequence number, `event` the type, `data` the stored event on one line. A
position that can no longer be read is answered by an event `reset`
(`{"oldest": …, "newest": …}`); the stream then goes on from the oldest.

It ends when the client goes, when the server stops, as soon as the caller may no longer
read it, and after about an hour in any case; a client that comes back with the number of
the last event it has misses nothing.
"""

# Plain ASGI: a thousand readers should not cost a thousand times what a framework keeps of a
# request, and ten frames a second to each should not pass through its layers.

import asyncio
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from clusterra.api import problems
from clusterra.api.admit import guest_of, in_workspace
from clusterra.api.asked import last_event_id, read_after, wanted
from clusterra.api.door import SERVERS_SEND
from clusterra.control.plane import Plane
from clusterra.core.access import Deed
from clusterra.core.errors import ClusterraError
from clusterra.core.events.access import may_read
from clusterra.core.events.frames import BEAT, RETRY, TYPE, position

HEARTBEAT = 15.0
"""Seconds. Proxies close what is silent for a minute, some after half of one."""

LIFETIME = 3600.0
"""Seconds, give or take a tenth, so that those who came together do not all leave together."""

HEADERS = [
    (b"content-type", TYPE.encode()),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]

PART = "http.response.body"


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """What a live stream is, beside what it tells."""

    headers: Sequence[tuple[bytes, bytes]]
    opening: bytes = b""
    beat: bytes = b""
    """A sign of life; empty where it would be taken for more of what is told."""


EVENTS = Manner(headers=HEADERS, opening=RETRY, beat=BEAT)

_PATH = re.compile(r"/v1/clusters/([^/]+)/events/stream")


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """What the metrics and the documents call it by."""

    path: str


ROUTE = Route(path="/v1/clusters/{cluster}/events/stream")


class LiveEvents:
    """Answers requests for the stream and passes all others on."""

    def __init__(
        self,
        app: ASGIApp,
        plane: Plane,
        *,
        heartbeat: float = HEARTBEAT,
        lifetime: float = LIFETIME,
    ) -> None:
        self._app = app
        self._plane = plane
        self._heartbeat = heartbeat
        self._lifetime = lifetime
        self._streams: set[Stream] = set()
        plane.people.directory.watch(self._look_again)

    def _look_again(self) -> None:
        """Have every stream see whether its reader may still read: somebody was changed."""
        for stream in self._streams:
            stream.look_again()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked = _PATH.fullmatch(scope["path"]) if scope["type"] == "http" else None
        if asked is None or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        scope["route"] = ROUTE
        try:
            stream = await self._open(Request(scope), asked[1])
        except ClusterraError as error:
            await problems.respond(error)(scope, receive, send)
            return
        self._streams.add(stream)
        try:
            await stream.run(receive, send, write=scope[SERVERS_SEND])
        finally:
            self._streams.discard(stream)

    async def _open(self, request: Request, cluster: str) -> "Stream":
        plane = self._plane
        guest = guest_of(request)
        caller = in_workspace(guest, plane, Deed.SEE_EVENTS, cluster=cluster)
        given = request.query_params
        query = wanted(
            plane.clock.now(),
            types=given.getlist("type"),
            **{name: given.get(name, "") for name in ("subject", "actor", "since", "until")},
        )
        # A browser that comes back sends the header along with the address it first had.
        came_back = last_event_id(request.headers.get("last-event-id", ""))
        after = read_after(given.get("after", "")) if came_back is None else came_back

        def check() -> bool:
            if not guest.is_still_in(plane.people):
                return False
            return in_workspace(guest, plane, Deed.SEE_EVENTS, cluster=cluster) == caller

        return Stream(
            await plane.hub.follow(
                cluster,
                query,
                None if caller.admin else partial(may_read, caller),
                after=after,
            ),
            at_the_present=after is None,
            check=check,
            heartbeat=self._heartbeat,
            lifetime=self._lifetime * random.uniform(0.9, 1.1),  # noqa: S311 - no secret
        )


class Reader(Protocol):
    """Somebody who follows something: `control/follow.py`, `control/output/follow.py`."""

    position: int
    closed: bool

    async def read(self) -> bytes: ...
    def ready(self) -> bytes | None: ...
    def news(self) -> "asyncio.Future[None] | None": ...
    def wake(self) -> None: ...
    def close(self) -> None: ...
    def leave(self) -> None: ...


class Stream:
    """One client's stream."""

    def __init__(
        self,
        reader: Reader,
        *,
        at_the_present: bool,
        check: Callable[[], bool],
        heartbeat: float,
        lifetime: float,
        manner: Manner = EVENTS,
    ) -> None:
        self._reader = reader
        self._at_the_present = at_the_present
        self._manner = manner
        self._check = check
        self._heartbeat = heartbeat
        self._lifetime = lifetime

    def look_again(self) -> None:
        if not self._is_allowed():
            self._reader.close()

    async def run(self, receive: Receive, send: Send, *, write: Send) -> None:
        reader = self._reader
        leaving = asyncio.create_task(gone(receive))
        leaving.add_done_callback(lambda _: reader.close())
        try:
            await send(
                {"type": "http.response.start", "status": 200, "headers": self._manner.headers}
            )
            # Somebody who starts at the present and is cut off before the first event
            # must be able to come back to where they started.
            opening = position(reader.position) if self._at_the_present else b""
            await write({"type": PART, "body": self._manner.opening + opening, "more_body": True})
            await self._tell(write)
            await write({"type": PART})
        finally:
            leaving.cancel()
            reader.leave()

    async def _tell(self, write: Send) -> None:
        reader, loop = self._reader, asyncio.get_running_loop()
        ends = loop.time() + self._lifetime
        beat = _Beat(reader.wake, self._heartbeat)
        try:
            while not reader.closed:
                sent = reader.ready()
                if sent is None:
                    sent = await reader.read()
                if sent:
                    await write({"type": PART, "body": sent, "more_body": True})
                if beat.is_due:
                    if loop.time() >= ends or not self._is_allowed():
                        return
                    if sign := self._manner.beat:
                        await write({"type": PART, "body": sign, "more_body": True})
                    beat.again()
                if (news := reader.news()) is not None:
                    await news
        finally:
            beat.stop()

    def _is_allowed(self) -> bool:
        try:
            return self._check()
        except ClusterraError:
            return False


class _Beat:
    """Becomes due after a while, and then wakes whoever waits."""

    def __init__(self, wake: Callable[[], None], every: float) -> None:
        self._wake = wake
        self._every = every
        self.again()

    def again(self) -> None:
        self.is_due = False
        self._timer = asyncio.get_running_loop().call_later(self._every, self._strike)

    def _strike(self) -> None:
        self.is_due = True
        self._wake()

    def stop(self) -> None:
        self._timer.cancel()


async def gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass

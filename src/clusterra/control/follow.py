"""Follow a ledger: what has been written since a position, then what is being written.

One hub per process. A commit wakes it; it reads the new events once, makes their
frames once, and every reader is handed the same bytes. A reader is a position and
nothing else: one that is slow, or comes back after a day, is served from the ledger
until it has reached what the hub still holds. Both are read by the same rule, so
nothing is missed and nothing comes twice: the events after the position, in order.

HTTP is not in here; `api/sse.py` is a reader's way out.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import structlog

from clusterra.core.events.event import Event, EventQuery
from clusterra.core.events.filter import matches
from clusterra.core.events.frames import frame, reset
from clusterra.ports import Store

log = structlog.get_logger()

RING = 4096
"""Events held per cluster, some 4 MB: a burst of an array's tasks, or hours of a quiet cluster."""

PAGE = 100
"""Events read from the ledger at a time for one reader: what waits in memory if it reads slowly."""

ELSEWHERE = 2.0
"""Seconds between two looks for events that another process committed, of which nobody tells us."""

Allowed = Callable[[Event], bool]


class Hub:
    """Everybody who follows a ledger in this process."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._feeds: dict[str, _Feed] = {}
        self._closed = False
        store.watch(self._told)

    def _told(self, cluster: str, head: int) -> None:
        if (feed := self._feeds.get(cluster)) is not None and head > feed.newest:
            feed.look()

    async def follow(
        self, cluster: str, query: EventQuery, allowed: Allowed | None, *, after: int | None
    ) -> "Reader":
        """Start a reader after a position, or at the present.

        `query` says what it wants to see, `allowed` what it may; None is everything.

        A position that is not in the ledger (sealed, or never reached) is `lost`: the
        first thing the reader reads is where it goes on.
        """
        oldest = await self._store.oldest(cluster)
        newest = (await self._store.head(cluster)).size
        if (feed := self._feeds.get(cluster)) is None:
            feed = self._feeds[cluster] = _Feed(cluster, self._store)
        position = newest if after is None else after
        reader = Reader(feed, query, allowed, position=position)
        if not oldest - 1 <= position <= newest:
            reader.restart(oldest, newest)
        reader.closed = self._closed
        feed.join(reader, newest)
        return reader

    def close(self) -> None:
        """End every reader: the process is about to stop."""
        self._closed = True
        for feed in self._feeds.values():
            for reader in feed.readers:
                reader.close()


@dataclass(frozen=True, slots=True)
class _Frame:
    event: Event
    """Without its body, which is in the frame."""
    sent: bytes


class _Feed:
    """The newest events of one cluster, kept up to date while anybody reads them."""

    def __init__(self, cluster: str, store: Store) -> None:
        self.cluster = cluster
        self.store = store
        self.readers: set[Reader] = set()
        self.first = 1
        self.newest = 0
        """The ring holds `first` to `newest`; nothing when they have crossed."""
        self.before = -1
        self.latest = b""
        """The frames that came last, together, and the position before them."""
        self._ring: dict[int, _Frame] = {}
        self._news = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def held(self, first: int, last: int) -> list[_Frame]:
        """Return the frames from `first` to `last`, all of which the ring holds."""
        return [self._ring[seq] for seq in range(first, last + 1)]

    def look(self) -> None:
        self._news.set()

    def join(self, reader: "Reader", newest: int) -> None:
        self.readers.add(reader)
        if self._task is None:
            if newest - self.newest > RING:
                # Nobody has read for a while; older events are the ledger's to tell.
                self._forget_before(newest + 1)
                self.newest, self.before = newest, -1
            self._task = asyncio.create_task(self._run(), name=f"follow {self.cluster}")

    def leave(self, reader: "Reader") -> None:
        self.readers.discard(reader)
        if not self.readers and self._task is not None:
            self._task.cancel()
            self._task = None

    def _note_latest(self, before: int, events: Sequence[Event]) -> None:
        if events[0].seq == before + 1 and len(events) <= PAGE:
            self.before = before
            self.latest = b"".join([self._ring[event.seq].sent for event in events])
        else:
            self.before, self.latest = -1, b""

    def _forget_before(self, first: int) -> None:
        if first > self.newest:
            self._ring.clear()
        else:
            for seq in range(self.first, first):
                del self._ring[seq]
        self.first = first

    async def _run(self) -> None:
        while True:
            self._news.clear()
            try:
                await self._catch_up()
            except Exception:
                log.exception("follow.cannot_read", cluster=self.cluster)
            with suppress(TimeoutError):
                async with asyncio.timeout(ELSEWHERE):
                    await self._news.wait()

    async def _catch_up(self) -> None:
        while True:
            query = EventQuery(after=self.newest, limit=RING)
            events = await self.store.events(self.cluster, query)
            if not events:
                return
            if events[0].seq != self.newest + 1:
                self._forget_before(events[0].seq)
            for event in events:
                self._ring[event.seq] = _Frame(replace(event, body=b""), frame(event))
            self._note_latest(self.newest, events)
            self.newest = events[-1].seq
            self._forget_before(max(self.first, self.newest - RING + 1))
            for reader in self.readers:
                reader.wake()
            if len(events) < RING:
                return


class Reader:
    """Somebody who follows: a position, and what they may and want to see."""

    def __init__(
        self, feed: _Feed, query: EventQuery, allowed: Allowed | None, *, position: int
    ) -> None:
        self.position = position
        """Everything up to here has been read."""
        self.closed = False
        self._feed = feed
        self._query = replace(query, after=0)
        self._allowed = allowed
        self._takes_all = allowed is None and self._query == EventQuery(limit=query.limit)
        self._lost = b""
        self._nudged = False
        self._news: asyncio.Future[None] | None = None
        self._loop = asyncio.get_running_loop()

    def restart(self, oldest: int, newest: int) -> None:
        self.position = oldest - 1
        self._lost = reset(oldest, newest)

    async def read(self) -> bytes:
        """Return the next frames, or nothing when there are none yet."""
        while (sent := self.ready()) is None:
            if sent := await self._from_ledger():
                break
        return sent

    def ready(self) -> bytes | None:
        """Return the next frames if they are at hand; None if they have to be `read`."""
        feed = self._feed
        if self.position == feed.before and self._takes_all and not self._lost:
            # Where everybody stands who keeps up: nothing is left to do for each of them.
            self.position = feed.newest
            return feed.latest
        if self._lost:
            lost, self._lost = self._lost, b""
            return lost
        while self.position < feed.newest:
            if self.position + 1 < feed.first:
                return None
            if sent := self._from_ring():
                return sent
        return b""

    def _from_ring(self) -> bytes:
        last = min(self.position + PAGE, self._feed.newest)
        held = self._feed.held(self.position + 1, last)
        self.position = last
        return b"".join([each.sent for each in held if self._takes(each.event)])

    def _takes(self, event: Event) -> bool:
        return matches(event, self._query) and (self._allowed is None or self._allowed(event))

    async def _from_ledger(self) -> bytes:
        feed, newest = self._feed, self._feed.newest
        asked = replace(self._query, after=self.position, limit=PAGE)
        events = await feed.store.events(feed.cluster, asked)
        # Asked afterwards: what was sealed while we read would otherwise be skipped in silence.
        oldest = await feed.store.oldest(feed.cluster)
        if oldest > self.position + 1:
            self.position = oldest - 1
            return reset(oldest, newest)
        if len(events) == PAGE:
            self.position = events[-1].seq
        else:
            # No more of them up to where the ledger reached before we asked.
            self.position = max(newest, events[-1].seq if events else 0)
        return b"".join([frame(event) for event in events if self._takes(event)])

    def news(self) -> "asyncio.Future[None] | None":
        """Return what to wait for when there is nothing to read; None if there is, or may be."""
        if self._nudged or self.closed or self._feed.newest > self.position:
            self._nudged = False
            return None
        self._news = self._loop.create_future()
        return self._news

    def wake(self) -> None:
        if self._news is None or self._news.done():
            self._nudged = True
        else:
            self._news.set_result(None)

    def close(self) -> None:
        """Have whoever reads for this one stop."""
        self.closed = True
        self.wake()

    def leave(self) -> None:
        self._feed.leave(self)

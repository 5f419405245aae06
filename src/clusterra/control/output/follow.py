"""Follow what a job writes: what is there, then what comes, until the job is over.

However many follow one file, it is watched once, read once and spelled once: whoever keeps up is
handed the same bytes. A reader is a place in the file and nothing else; one that is slow, or
begins far back, reads the file by itself until it has reached what is still held. Both go by the
same rule, the bytes after the place, so nothing is missed and nothing comes twice.

HTTP is not in here; `api/sse.py` is a reader's way out.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from clusterra.control.follow import Hub
from clusterra.control.output import frames
from clusterra.control.output.lines import start_of_lines
from clusterra.control.output.tail import Tail
from clusterra.control.site import Site
from clusterra.core.errors import ClusterraError, Unreachable
from clusterra.core.jobs.job import Job
from clusterra.core.utf8 import begun, rest
from clusterra.ports import Log, Store

PIECE = 256 << 10
"""Bytes read at a time for one reader: what waits in memory if it reads slowly."""

PLAIN_PIECE = 1 << 20
"""The same for who wants them as they are: nothing is made of them, so more of them are quick."""

AGAIN = 0.05
"""Seconds after which a reader asks again for what the file no longer has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """Where somebody wants to begin: at a byte, so many from the end, or with the last lines."""

    at: int = 0
    tail: int | None = None
    lines: int | None = None


class Follow:
    """Everybody who follows what jobs write, in this process."""

    def __init__(self, *, store: Store, hub: Hub) -> None:
        self._store = store
        self._hub = hub
        self._tails: dict[tuple[str, str, str, tuple[int, int]], Tail] = {}
        """By cluster, job and stream; an id alone may be another's some day."""
        self._readers: set[Reader] = set()
        self._closed = False

    async def begin(
        self,
        site: Site,
        label: str,
        job: Job,
        *,
        stream: str,
        beginning: Beginning,
        allowed: Callable[[], bool],
        plain: bool = False,
    ) -> "Reader":
        """Start a reader of what a job writes. Raises Refused where that cannot be reached."""
        key = (site.cluster.id, label, stream, job.key)
        tail = self._tails.get(key)
        if tail is None or tail.over:
            tail = self._tails[key] = Tail(
                site, label, job, stream=stream, store=self._store, hub=self._hub
            )
        reader = PlainReader(tail, allowed) if plain else Reader(tail, allowed)
        tail.join(reader)
        self._readers.add(reader)
        try:
            await tail.found()
            await reader.start(beginning)
        except BaseException:
            self.leave(reader)
            raise
        reader.closed = self._closed
        reader.left = lambda: self.leave(reader)
        return reader

    def leave(self, reader: "Reader") -> None:
        self._readers.discard(reader)
        tail = reader.tail
        tail.leave(reader)
        if not tail.readers:
            self._tails = {key: each for key, each in self._tails.items() if each is not tail}
            tail.close()

    def look_again(self) -> None:
        """Have every reader end that may no longer read: somebody was changed."""
        for reader in self._readers:
            if not reader.may_go_on():
                reader.close()

    def close(self) -> None:
        """End every reader: the process is about to stop."""
        self._closed = True
        for reader in self._readers:
            reader.close()


class Reader:
    """Somebody who follows: a place in the file."""

    def __init__(self, tail: Tail, allowed: Callable[[], bool]) -> None:
        self.tail = tail
        self._allowed = allowed
        self.position = 0
        """Everything before this byte has been read."""
        self.closed = False
        self.left: Callable[[], None] = lambda: None
        self._generation = tail.generation
        self._before = b""
        """What is to be told before anything else."""
        self._nudged = False
        self._news: asyncio.Future[None] | None = None
        self._loop = asyncio.get_running_loop()

    def may_go_on(self) -> bool:
        try:
            return self._allowed()
        except ClusterraError:
            return False

    async def start(self, beginning: Beginning) -> None:
        log, self._generation = self.tail.log, self.tail.generation
        if log is None:
            self._before = frames.waiting(self.tail.state)
            if beginning.at:
                self._before = frames.reset("missing") + self._before
            return
        if beginning.lines is not None:
            self.position = await start_of_lines(log, self.tail.end, beginning.lines)
        elif beginning.tail is not None:
            self.position = await _begin_of_character(log, self.tail.end - beginning.tail)
        elif (
            beginning.at <= self.tail.end or beginning.at <= (await log.read(beginning.at, 1)).size
        ):
            self.position = beginning.at
        else:
            self._before = frames.reset("shorter")

    async def read(self) -> bytes:
        """Return the next frames, or nothing when there are none yet."""
        if (sent := self.ready()) is not None:
            return sent
        tail, generation = self.tail, self.tail.generation
        left = tail.boundary(self.position) - self.position
        data = await self._by_itself(min(left, PIECE))
        if generation != tail.generation:
            return b""
        if not data:
            # The file has become shorter, which whoever watches it is about to notice.
            tail.look()
            await asyncio.sleep(AGAIN)
            return b""
        if len(data) < left:
            data = data[: len(data) - begun(data)]
        sent = frames.piece(self.position, data)
        self.position += len(data)
        return sent

    async def _by_itself(self, most: int) -> bytes:
        if (log := self.tail.log) is None:
            return b""
        try:
            return (await log.read(self.position, most)).data
        except Unreachable:
            return b""  # closed meanwhile, or away for a moment

    def ready(self) -> bytes | None:
        """Return the next frames if they are at hand; None if they have to be `read`."""
        tail = self.tail
        if self._before:
            sent, self._before = self._before, b""
            return sent
        if self._generation != tail.generation:
            self._generation, self.position = tail.generation, 0
            return frames.reset(tail.reason)
        if (held := tail.held(self.position)) is not None:
            self.position = held.end
            return held.sent
        if self.position < tail.end:
            return None
        if tail.over:
            self.closed = True
        return tail.over

    def news(self) -> "asyncio.Future[None] | None":
        """Return what to wait for when there is nothing to read; None if there is, or may be."""
        tail = self.tail
        behind = self.position < tail.end or self._generation != tail.generation
        if self._nudged or self.closed or behind or tail.over:
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
        self.left()


class PlainReader(Reader):
    """Somebody who wants the bytes and nothing about them.

    What began again is simply read from its beginning, and the end is the end.
    """

    def ready(self) -> bytes | None:
        self._before = b""
        tail = self.tail
        if self._generation != tail.generation:
            self._generation, self.position = tail.generation, 0
        if self.position < tail.end:
            return None
        self.closed = self.closed or bool(tail.over)
        return b""

    async def read(self) -> bytes:
        tail, generation = self.tail, self.tail.generation
        data = await self._by_itself(min(tail.end - self.position, PLAIN_PIECE))
        if generation != tail.generation:
            return b""
        if not data:
            tail.look()
            await asyncio.sleep(AGAIN)
        self.position += len(data)
        return data


async def _begin_of_character(log: Log, at: int) -> int:
    if at <= 0:
        return 0
    return at + rest((await log.read(at, 4)).data)

"""The end of one file that a job writes to: watched, read and spelled once for all who follow it.

It goes on while anybody follows, through removal, renaming, truncation and a job that runs again,
and comes to its end when the job is over and the file has been read to its end after that. Whether
the job is over is `outcome.py`'s to know.
"""

import asyncio
from collections import deque
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Protocol

import structlog

from clusterra.control.follow import Hub
from clusterra.control.output import frames
from clusterra.control.output.outcome import Outcome
from clusterra.control.site import Site
from clusterra.core.errors import ClusterraError, Unreachable
from clusterra.core.jobs.job import Job
from clusterra.core.utf8 import begun
from clusterra.ports import Log, Store

log = structlog.get_logger()

PIECE = 256 << 10
HELD = 1 << 20
"""Bytes kept for those who are a little behind."""

LOOK = 1.0
"""Seconds after which the file is looked at, and for, although nobody tells of a change."""

PATIENCE = 1.0
"""Seconds that the beginning of a character waits for its rest."""

PACE, PACE_EACH = 0.005, 0.0001
"""Seconds between two pieces of a busy file, and more for each reader: what five hundred are sent a
hundred times a second reaches none of them in time."""

UNREACHED = 2.0
"""Seconds until a file that could not be read is tried again."""


class Woken(Protocol):
    def wake(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Held:
    start: int
    end: int
    sent: bytes


class Tail:
    def __init__(
        self, site: Site, label: str, job: Job, *, stream: str, store: Store, hub: Hub
    ) -> None:
        self.log: Log | None = None
        self.end = 0
        """Up to here the file has been read, or was there when it was first looked at."""
        self.generation = 0
        """How often it began again."""
        self.reason = ""
        """Why it did last."""
        self.over = b""
        """What is told at the end; empty before."""
        self.readers: set[Woken] = set()
        self._site = site
        self._label = label
        self._stream = stream
        self._held: deque[Held] = deque()
        self._by_start: dict[int, Held] = {}
        self._size_held = 0
        self._begun_at = 0.0
        """Since when the beginning of a character waits for its rest; 0 if none does."""
        self._nudge = asyncio.Event()
        self._outcome = Outcome(site, label, job, store=store, hub=hub, told=self.look)
        self._looked: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._run(), name=f"output {label}")

    @property
    def state(self) -> str:
        return self._outcome.job.state.value

    async def found(self) -> None:
        """Return when the file has been looked for. Raises what kept us from it."""
        await asyncio.shield(self._looked)

    def join(self, reader: Woken) -> None:
        self.readers.add(reader)

    def leave(self, reader: Woken) -> None:
        self.readers.discard(reader)

    def look(self) -> None:
        self._nudge.set()

    def close(self) -> None:
        self._task.cancel()
        self._outcome.close()
        if self.log is not None:
            self.log.close()
        if not self._looked.cancel() and not self._looked.cancelled():
            self._looked.exception()  # whoever it was for has gone

    def held(self, position: int) -> Held | None:
        return self._by_start.get(position)

    def boundary(self, position: int) -> int:
        """Return the end of what a reader has to read by itself, to go on with what is held."""
        for each in self._held:
            if each.start > position:
                return each.start
            if each.end > position:
                return each.end
        return self.end

    async def _run(self) -> None:
        while not self.over:
            self._nudge.clear()
            try:
                await self._round()
            except ClusterraError as error:
                # To whoever waits for the first look it is the answer.
                if not self._looked.done():
                    self._looked.set_exception(error)
                    return
                if not isinstance(error, Unreachable):
                    self._finish(frames.error(error.code, error.detail))
                    return
                await asyncio.sleep(UNREACHED)
            except Exception:
                log.exception("output.cannot_follow", job=self._label)
                self._finish(frames.error("internal", "This output cannot be followed."))
                self._tell_looked()

    async def _round(self) -> None:
        if self.log is None and not await self._open():
            return
        assert self.log is not None
        # Asked before the file is: what was written until the end is then seen.
        is_over = self._outcome.is_over
        output = await self.log.read(self.end, PIECE)
        if output.size < self.end:
            self._begin_again("truncated")
            return
        data = self._whole(output.data, is_over=is_over)
        if data:
            self._publish(data)
            if len(output.data) < PIECE:
                await asyncio.sleep(PACE + PACE_EACH * len(self.readers))
        elif not await self._opened_anew(size := self.end + len(output.data)):
            if is_over:
                self._finish(frames.end(self.end, self.state))
            else:
                await self._unless_nudged(self.log.grown(size, LOOK))

    async def _open(self) -> bool:
        """Open the file if it is there; wait for it, or end, if it is not."""
        is_over, logs, job = self._outcome.is_over, self._site.logs, self._outcome.job
        self.log = await logs.open(job, stream=self._stream)
        if self.log is not None:
            # What is there at the first look is for each reader to begin in; later, all is new.
            self.end = 0 if self._looked.done() else self.log.size
            self._tell_looked()
            return True
        if is_over:
            self._finish(frames.end(None, self.state))
        self._tell_looked()
        if not is_over:
            await self._unless_nudged(logs.appears(job, stream=self._stream, seconds=LOOK))
        return False

    async def _opened_anew(self, size: int) -> bool:
        """Open what now has the name, if that is another file or of another size.

        Only by opening it does a network file system tell how long a file has become.
        """
        assert self.log is not None
        found = await self._site.logs.open(self._outcome.job, stream=self._stream)
        if found is None:
            return False  # removed: whoever writes to it still does
        if (found.file, found.size) == (self.log.file, size):
            found.close()
            return False
        before, self.log = self.log, found
        before.close()
        if before.file != found.file:
            self._begin_again("replaced")
        return True

    def _whole(self, data: bytes, *, is_over: bool) -> bytes:
        """Leave out the beginning of a character, unless its rest does not come."""
        if not (cut := begun(data)):
            self._begun_at = 0.0
            return data
        now = asyncio.get_running_loop().time()
        if len(data) > cut or not self._begun_at:
            self._begun_at = now
        waited = now - self._begun_at >= PATIENCE
        return data if is_over or waited else data[: len(data) - cut]

    def _publish(self, data: bytes) -> None:
        start, self.end = self.end, self.end + len(data)
        new = Held(start, self.end, frames.piece(start, data))
        self._held.append(new)
        self._by_start[start] = new
        self._size_held += len(new.sent)
        while self._size_held > HELD:
            old = self._held.popleft()
            del self._by_start[old.start]
            self._size_held -= len(old.sent)
        self._wake()

    def _begin_again(self, reason: str) -> None:
        self.generation += 1
        self.reason = reason
        self.end = self._size_held = 0
        self._held.clear()
        self._by_start.clear()
        self._wake()

    def _finish(self, told: bytes) -> None:
        self.over = told
        self._wake()

    def _wake(self) -> None:
        for reader in self.readers:
            reader.wake()

    def _tell_looked(self) -> None:
        """Let those begin who wait for the first look."""
        if not self._looked.done():
            self._looked.set_result(None)

    async def _unless_nudged(self, waiting: Coroutine[None, None, None]) -> None:
        """Wait for it, or for news of the job."""
        tasks = (asyncio.create_task(waiting), asyncio.create_task(self._nudge.wait()))
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
        if tasks[0].done() and not tasks[0].cancelled():
            tasks[0].result()

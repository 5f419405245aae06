"""What jobs write, in a dict: for tests."""

import asyncio
from collections.abc import AsyncGenerator, Callable

from clusterra.core.jobs.job import Job
from clusterra.ports import Output

_LOOK = 0.005


class MemoryLogs:
    def __init__(self) -> None:
        self.written: dict[int, bytes] = {}
        """By job; replace it to have the job write, or begin again."""
        self.errors: dict[int, bytes] = {}
        """What jobs write to a file of its own for errors."""
        self.reads = 0

    async def open(self, job: Job, *, stream: str = "stdout") -> "MemoryLog | None":
        written = self._where(job, stream)
        return MemoryLog(self, written, job.id) if job.id in written else None

    async def appears(self, job: Job, *, stream: str = "stdout", seconds: float) -> None:
        await _until(lambda: job.id in self._where(job, stream), seconds)

    async def read(self, job: Job, *, stream: str = "stdout", tail: int) -> Output | None:
        log = await self.open(job, stream=stream)
        return None if log is None else await log.read(max(log.size - tail, 0), tail)

    async def close(self) -> None:
        return

    def _where(self, job: Job, stream: str) -> dict[int, bytes]:
        return self.errors if stream == "stderr" and job.id in self.errors else self.written


class MemoryLog:
    def __init__(self, logs: MemoryLogs, written: dict[int, bytes], id: int) -> None:
        self._logs = logs
        self._written = written
        self._id = id
        self._last = written[id]
        self.file = str(id)
        self.size = len(self._last)

    async def read(self, start: int, most: int) -> Output:
        self._logs.reads += 1
        data = self._now()
        return Output(data=data[start : start + most], offset=start, size=len(data))

    async def pieces(self, start: int, stop: int) -> AsyncGenerator[bytes, None]:
        if data := self._now()[start:stop]:
            yield data

    async def grown(self, beyond: int, seconds: float) -> None:
        await _until(lambda: len(self._now()) != beyond, seconds)

    def close(self) -> None:
        return

    def _now(self) -> bytes:
        """Return all of it: a file that was removed is still there for who has it open."""
        self._last = self._written.get(self._id, self._last)
        return self._last


async def _until(true: Callable[[], bool], seconds: float) -> None:
    ends = asyncio.get_running_loop().time() + seconds
    while not true() and asyncio.get_running_loop().time() < ends:  # noqa: ASYNC110 - nobody tells
        await asyncio.sleep(_LOOK)

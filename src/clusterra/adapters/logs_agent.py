"""Job output of a cluster whose files this process cannot see, asked of the cluster's agent.

    GET {agent}/logs/{job}?stream=stdout|stderr        X-Agent-Key

is what the public agent and our own both answer. Ours takes a `Range` as well, says with `ETag` which
file it is, and with `Prefer: wait=N` keeps a range that is not there yet waiting: so a file is
followed byte by byte and at full speed. The public one answers any of that with the whole file.
What was asked for is then taken out of it, at most every second and the more seldom the longer that
takes; its own event stream, which sends eight kilobytes a second, never ends and knows no places, is
not used.

An agent finds files by the job's id (`slurm-41.out`, `job_41.out`), not by the path in its record.
"""

import asyncio
import re
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from urllib.parse import quote

import aiohttp

from clusterra.adapters.no_answer import why
from clusterra.core.errors import ClusterraError, Refused, Unreachable
from clusterra.core.jobs.job import Job
from clusterra.core.scaling.log_door import LogDoor
from clusterra.ports import Output

PIECE = 256 << 10
TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=2, sock_read=30)
REST = 1.0
"""Seconds between two looks at a file that is always sent whole."""

REST_FACTOR = 4
"""How many times as long as the last look took is rested, if that is longer."""

AWAY = 10.0
"""Seconds for which an agent that did not answer is not asked again."""

_RANGE = re.compile(r"bytes (?:(\d+)-\d+|\*)/(\d+)")


class AgentLogs:
    def __init__(self, where: Callable[[], LogDoor | None]) -> None:
        self._where = where
        self._http: aiohttp.ClientSession | None = None
        self._away: Unreachable | None = None
        self._away_until = 0.0

    async def open(self, job: Job, *, stream: str = "stdout") -> "AgentLog | None":
        if (door := self._where()) is None:
            raise Refused(
                f"The output of job {job.label} lies on its cluster, in {job.stdout or 'a file'}.",
                hint="Read it there, or run an agent there: `clusterra agent --logs DIR`. This"
                " server has no access to that cluster's files.",
                code="output-elsewhere",
            )
        if job.array_id is not None and job.array_task is None:
            return None  # it stands for tasks that have not begun
        if self._away is not None and time.monotonic() < self._away_until:
            raise self._away  # many may ask, and each would wait for nobody
        log = AgentLog(self._session(), door, job.label, stream)
        try:
            return log if await log.open() else None
        except Unreachable as error:
            self._away, self._away_until = error, time.monotonic() + AWAY
            raise

    async def appears(self, job: Job, *, stream: str = "stdout", seconds: float) -> None:
        del job, stream
        await asyncio.sleep(seconds)

    async def read(self, job: Job, *, stream: str = "stdout", tail: int) -> Output | None:
        log = await self.open(job, stream=stream)
        return None if log is None else await log.read(max(log.size - tail, 0), tail)

    async def close(self) -> None:
        if self._http is not None:
            await self._http.close()
            self._http = None

    def _session(self) -> aiohttp.ClientSession:
        if self._http is None:
            self._http = aiohttp.ClientSession(timeout=TIMEOUT, read_bufsize=PIECE)
        return self._http


class AgentLog:
    def __init__(self, http: aiohttp.ClientSession, door: LogDoor, label: str, stream: str) -> None:
        self.file = ""
        self.size = 0
        self._http = http
        self._door = door
        self._url = f"{door.url}/logs/{quote(label, safe='')}?stream={stream}"
        self._ranges = True
        """It answers with what was asked for, and not with all there is."""
        self._took = 0.0

    async def open(self) -> bool:
        """Ask how long the file is; say whether there is one."""
        began = time.monotonic()
        async with self._asked(0, 1) as answer:
            if answer is None:
                return False
            self.file = answer.headers.get("ETag", "")
            self._ranges = answer.status != 200
            self.size = _size(answer)
            if not self._ranges and answer.content_length is None:
                self.size = sum([len(each) async for each in answer.content.iter_chunked(PIECE)])
        self._took = time.monotonic() - began
        return True

    async def read(self, start: int, most: int) -> Output:
        began = time.monotonic()
        async with self._asked(start, start + most) as answer:
            if answer is None:
                return Output(data=b"", offset=start, size=start)
            part = _Part(answer, start)
            data = b"".join([piece async for piece in part.pieces(start + most)])
        self._took = time.monotonic() - began
        return Output(data=data, offset=start, size=part.size)

    async def pieces(self, start: int, stop: int) -> AsyncGenerator[bytes, None]:
        if start >= stop:
            return
        async with self._asked(start, stop) as answer:
            if answer is not None:
                async for piece in _Part(answer, start).pieces(stop):
                    yield piece

    async def grown(self, beyond: int, seconds: float) -> None:
        if not self._ranges:
            await asyncio.sleep(max(REST, REST_FACTOR * self._took))
            return
        async with self._asked(beyond, beyond + 1, wait=seconds):
            return

    def close(self) -> None:
        return

    @asynccontextmanager
    async def _asked(
        self, start: int, stop: int, *, wait: float = 0
    ) -> AsyncIterator[aiohttp.ClientResponse | None]:
        """Ask for these bytes and yield the answer, whole or in part; None if there is no file."""
        headers = {"X-Agent-Key": self._door.key, "Range": f"bytes={start}-{stop - 1}"}
        if wait:
            headers["Prefer"] = f"wait={wait:g}"
        try:
            async with self._http.get(self._url, headers=headers, allow_redirects=False) as answer:
                if answer.status not in (200, 206, 404, 416):
                    raise _refusal(answer.status)
                yield None if answer.status == 404 else answer
        except (aiohttp.ClientError, TimeoutError) as error:
            raise Unreachable(
                f"The cluster's agent does not send this output: {why(error)}.",
                hint="See whether the agent runs, and whether this server may connect to it.",
                code="agent-unreachable",
            ) from None


class _Part:
    """The bytes of an answer from a place on, whether it begins there or at 0."""

    def __init__(self, answer: aiohttp.ClientResponse, start: int) -> None:
        self.size = _size(answer)
        """As far as it is known: after the last piece, at least how far the file reaches."""
        self._answer = answer
        self._start = start

    async def pieces(self, stop: int) -> AsyncIterator[bytes]:
        if self._answer.status == 416:
            return
        at = 0 if self._answer.status == 200 else self._start
        async for data in self._answer.content.iter_chunked(PIECE):
            wanted = data[max(self._start - at, 0) : stop - at]
            at += len(data)
            self.size = max(self.size, at)
            if wanted:
                yield wanted
            if at >= stop:
                # The rest of it may be gigabytes that nobody has asked for.
                self._answer.close()
                return


def _size(answer: aiohttp.ClientResponse) -> int:
    """Return how long the file is, where the answer says so; else 0."""
    if found := _RANGE.fullmatch(answer.headers.get("Content-Range", "")):
        return int(found[2])
    return (answer.content_length or 0) if answer.status == 200 else 0


def _refusal(status: int) -> ClusterraError:
    if status in (401, 403):
        return Refused(
            "The cluster's agent does not take the key that it shows itself.",
            hint="Start the agent anew with the key that the cluster has now.",
            code="agent-refused",
        )
    return Unreachable(
        f"The cluster's agent answers {status} when it is asked for this output.",
        hint="Look into the agent's log, and ask again.",
        code="agent-unreachable",
    )

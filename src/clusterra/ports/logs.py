"""What jobs write."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Protocol

from clusterra.core.jobs.job import Job


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Some bytes of what a job has written."""

    data: bytes
    offset: int
    """Where in the file `data` begins."""

    size: int
    """How long the file was when it was read."""


class Log(Protocol):
    """A file that a job writes to, open: the same one whatever becomes of its name."""

    @property
    def file(self) -> str:
        """What tells this file from another of the same name."""
        ...

    @property
    def size(self) -> int:
        """How long it was when it was opened."""
        ...

    async def read(self, start: int, most: int) -> Output:
        """Return up to so many bytes from `start` on; none at the end.

        `size` is how long the file is now, as far as that is known: not below `start` unless
        it has become shorter. Raises Unreachable if it cannot be read at present.
        """
        ...

    def pieces(self, start: int, stop: int) -> AsyncGenerator[bytes, None]:
        """Yield the bytes from `start` to `stop`; fewer if the file has become shorter."""
        ...

    async def grown(self, beyond: int, seconds: float) -> None:
        """Return when the file may be of another length than `beyond`, or after about so long."""
        ...

    def close(self) -> None:
        """Let go of the file. Whoever still reads it gets nothing more."""
        ...


class Logs(Protocol):
    """What jobs write."""

    async def open(self, job: Job, *, stream: str = "stdout") -> Log | None:
        """Open what the job writes to; None if there is none yet.

        Never follows a link out of the job's own files. Raises Refused where output cannot
        be reached from here.
        """
        ...

    async def appears(self, job: Job, *, stream: str = "stdout", seconds: float) -> None:
        """Return when there may be something to open, or after so long."""
        ...

    async def read(self, job: Job, *, stream: str = "stdout", tail: int) -> Output | None:
        """Return the last `tail` bytes; None if there are none yet. Raises as `open` does."""
        ...

    async def close(self) -> None:
        """Let go of whatever is held on to."""
        ...

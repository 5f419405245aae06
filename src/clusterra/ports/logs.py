"""What jobs write."""

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


class Logs(Protocol):
    """What jobs write."""

    async def read(
        self, job: Job, *, stream: str = "stdout", tail: int | None = None, start: int = 0
    ) -> Output | None:
        """Return the output from byte `start`, or its last `tail` bytes; None if there is none yet.

        What is too much for one answer is left out: at the front, or after `start` at the
        end. Never follows a link out of the job's own files. Raises Refused where
        output cannot be reached from here.
        """
        ...

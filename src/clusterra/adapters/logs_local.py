"""Job output on a file system that this process can see.

The path in a job's record was chosen by whoever submitted it, and this process
may be root: so the path is walked one step at a time below the cluster's own
directory, no link is followed, and only a plain file is read that belongs to whoever
the job ran as. Otherwise anybody could have another's file read to them, by naming it
as their job's output.
"""

import asyncio
import os
import stat
from pathlib import Path, PurePosixPath

from clusterra.core.errors import Refused
from clusterra.core.jobs.job import Job
from clusterra.ports import Output

MOST = 8 << 20
"""Most bytes read at once; the end of a longer file."""


class LocalLogs:
    def __init__(self, root: Path, *, single_user: bool = False) -> None:
        self._root = root
        self._single_user = single_user
        """All files are one user's, and there is nobody to keep them from."""

    async def read(
        self, job: Job, *, stream: str = "stdout", tail: int | None = None, start: int = 0
    ) -> Output | None:
        path = job.stderr if stream == "stderr" and job.stderr else job.stdout
        most = min(tail or MOST, MOST)
        return await asyncio.to_thread(self._read, path, job.user, most, start)

    def _read(self, path: str, user: str, most: int, start: int) -> Output | None:
        try:
            file = self._open(path, user)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise Refused(
                f"The output {path} cannot be read: {error.strerror}.",
                hint="Only plain files below /home, /mnt and /tmp that belong to the job's user are shown,"
                " and links are not followed.",
                code="output-unreadable",
            ) from None
        with os.fdopen(file, "rb") as opened:
            size = os.fstat(file).st_size
            offset = start or max(size - most, 0)
            opened.seek(offset)
            return Output(data=opened.read(most), offset=offset, size=size)

    def _open(self, path: str, user: str) -> int:
        steps = PurePosixPath(path).parts[1:]
        if not steps or ".." in steps or steps[0] not in {"home", "mnt", "tmp"}:
            raise PermissionError(1, "it lies outside /home, /mnt and /tmp")
        at = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        for number, step in enumerate(steps, start=1):
            last = number == len(steps)
            flags = os.O_NONBLOCK if last else os.O_DIRECTORY
            try:
                inner = os.open(step, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | flags, dir_fd=at)
            finally:
                os.close(at)
            at = inner
        found = os.fstat(at)
        if not stat.S_ISREG(found.st_mode):
            os.close(at)
            raise PermissionError(1, "it is not a plain file")
        if not self._single_user and found.st_uid != self._uid_of(user):
            os.close(at)
            raise PermissionError(1, f"it does not belong to {user}")
        return at

    def _uid_of(self, user: str) -> int | None:
        for line in (self._root / "etc/passwd").read_text().splitlines():
            name, _, rest = line.partition(":")
            if name == user:
                return int(rest.split(":")[1])
        return None

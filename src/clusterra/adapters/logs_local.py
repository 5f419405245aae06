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
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from clusterra.adapters.inotify import DIRECTORY, Inotify
from clusterra.adapters.log_file import LogFile
from clusterra.adapters.passwd import uid_of
from clusterra.core.errors import Refused
from clusterra.core.jobs.job import Job
from clusterra.ports import Output

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Not blocking: opening a pipe would wait for somebody who writes to it.
_PLAIN = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY

T = TypeVar("T")

LOOK = 0.25
"""Seconds between two looks for a file, where nobody tells of it."""


class LocalLogs:
    def __init__(
        self, root: Path, *, single_user: bool = False, inotify: Inotify | None = None
    ) -> None:
        self._root = root
        self._single_user = single_user
        """All files are one user's, and there is nobody to keep them from."""
        self._inotify = inotify or Inotify()

    async def open(self, job: Job, *, stream: str = "stdout") -> LogFile | None:
        path = _path(job, stream)
        descriptor = await _opened(self._found, path, job.user)
        return None if descriptor is None else LogFile(descriptor, self._inotify)

    async def appears(self, job: Job, *, stream: str = "stdout", seconds: float) -> None:
        path, stirred = _path(job, stream), asyncio.Event()
        directory = await _opened(self._nearest, path)
        leave = None
        with suppress(OSError):
            leave = self._inotify.watch(directory, DIRECTORY, stirred.set)
        os.close(directory)
        try:
            # It may have come before anybody watched.
            found = await _opened(self._found, path, job.user)
            if found is not None:
                os.close(found)
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds if leave else min(seconds, LOOK)):
                    await stirred.wait()
        finally:
            if leave is not None:
                leave()

    async def read(self, job: Job, *, stream: str = "stdout", tail: int) -> Output | None:
        log = await self.open(job, stream=stream)
        if log is None:
            return None
        try:
            return await log.read(max(log.size - tail, 0), tail)
        finally:
            log.close()

    async def close(self) -> None:
        return

    def _found(self, path: str, user: str) -> int | None:
        try:
            return self._open(path, user)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise Refused(
                f"The output {path} cannot be read: {error.strerror}.",
                hint="Only plain files below /home, /mnt and /tmp that belong to the job's user are shown,"
                " and links are not followed.",
                code="output-unreadable",
            ) from None

    def _open(self, path: str, user: str) -> int:
        *directories, name = _steps(path)
        at = os.open(self._root, _DIRECTORY & ~os.O_NOFOLLOW)
        for step, flags in (*((each, _DIRECTORY) for each in directories), (name, _PLAIN)):
            try:
                inner = os.open(step, flags, dir_fd=at)
            finally:
                os.close(at)
            at = inner
        try:
            self._check(os.fstat(at), user)
        except OSError:
            os.close(at)
            raise
        return at

    def _check(self, found: os.stat_result, user: str) -> None:
        if not stat.S_ISREG(found.st_mode):
            raise PermissionError(1, "it is not a plain file")
        if not self._single_user and found.st_uid != uid_of(self._root, user):
            raise PermissionError(1, f"it does not belong to {user}")

    def _nearest(self, path: str) -> int:
        """Open the innermost directory on the way to a path that there is."""
        at = os.open(self._root, _DIRECTORY & ~os.O_NOFOLLOW)
        with suppress(OSError):
            for step in _steps(path)[:-1]:
                inner = os.open(step, _DIRECTORY, dir_fd=at)
                os.close(at)
                at = inner
        return at


async def _opened(opening: Callable[..., T], *given: str) -> T:
    """Open something in a thread; whoever no longer waits for it leaves nothing open."""
    task = asyncio.create_task(asyncio.to_thread(opening, *given))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        task.add_done_callback(_let_go)
        raise


def _let_go(opened: "asyncio.Task[Any]") -> None:
    if not opened.cancelled() and opened.exception() is None and opened.result() is not None:
        os.close(opened.result())


def _path(job: Job, stream: str) -> str:
    return job.stderr if stream == "stderr" and job.stderr else job.stdout


def _steps(path: str) -> tuple[str, ...]:
    steps = PurePosixPath(path).parts[1:]
    if not steps or {"..", "\0"} & {*steps, *path} or steps[0] not in {"home", "mnt", "tmp"}:
        raise PermissionError(1, "it lies outside /home, /mnt and /tmp")
    return steps

"""What jobs have written, found and followed on a file system that this machine sees.

A log is `slurm-<id>.out`, or else `job_<id>.out`, directly below the base or one directory
further down; `.err` for what a job wrote to its standard error. No link is followed: whoever
may write there could otherwise have any file of this machine read to them.
"""

import asyncio
import os
import stat
from collections.abc import AsyncGenerator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from clusterra.core.errors import Invalid
from clusterra.core.utf8 import begun, rest

ENDINGS = {"stdout": "out", "stderr": "err"}
BEFORE_END = 64 << 10
"""How much of what was written before is sent to whoever begins to follow."""

PIECE = 64 << 10
SOON, SELDOM = 0.05, 0.5
"""Seconds between two looks at a file: just after it grew, and when it has not for a while."""

KEEP_ALIVE = 15.0
"""Proxies close what is silent for a minute, some after half of one."""

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_PLAIN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """Which one is meant."""

    base: Path
    job: str
    ending: str

    def names(self) -> tuple[str, ...]:
        return (f"slurm-{self.job}.{self.ending}", f"job_{self.job}.{self.ending}")


def log_of(base: Path, job: str, stream: str) -> Log:
    if not job or ".." in job or any(each in job for each in "/\\\0"):
        raise Invalid("That is not the id of a job.", hint="Such as 41, or 40_3 of an array.")
    if stream not in ENDINGS:
        raise Invalid(f"There is no stream {stream!r}.", hint="stdout or stderr.", at="stream")
    return Log(base=base, job=job, ending=ENDINGS[stream])


def open_log(log: Log) -> int | None:
    """Return a descriptor of the file; None if there is none yet. Raises OSError."""
    try:
        base = os.open(log.base, _DIRECTORY)
    except FileNotFoundError:
        return None
    try:
        for name in log.names():
            found = _open(base, name)
            if found is None:
                found = next(_below(base, name), None)
            if found is not None:
                return found
        return None
    finally:
        os.close(base)


def _below(base: int, name: str) -> Iterator[int]:
    with os.scandir(base) as entries:
        directories = sorted(each.name for each in entries if each.is_dir(follow_symlinks=False))
    for each in directories:
        try:
            directory = os.open(each, _DIRECTORY | os.O_NOFOLLOW, dir_fd=base)
        except OSError:
            continue
        try:
            found = _open(directory, name)
        finally:
            os.close(directory)
        if found is not None:
            yield found


def _open(directory: int, name: str) -> int | None:
    try:
        found = os.open(name, _PLAIN, dir_fd=directory)
    except OSError:
        return None
    if stat.S_ISREG(os.fstat(found).st_mode):
        return found
    os.close(found)
    return None


async def follow(log: Log, *, keep_alive: float = KEEP_ALIVE) -> AsyncGenerator[bytes, None]:
    """Yield server-sent events with what is written, from a little before the end, for ever.

    The first is a comment, sent as soon as the file was looked for. A file that is not there
    yet is waited for; one that was begun anew is read from its beginning. Joining the data
    lines with newlines gives the bytes of the file.
    """
    loop = asyncio.get_running_loop()
    file = _Growing(log)
    gap, silent_since = SOON, loop.time()
    try:
        await asyncio.to_thread(file.open)
        yield b": here\n\n"
        while True:
            late = loop.time() - silent_since >= keep_alive
            # What has waited so long for the rest of its last character is not text.
            data = await asyncio.to_thread(file.read, whole=not late)
            if data:
                yield event(data)
            elif late:
                yield b": still here\n\n"
            if data or late:
                gap, silent_since = SOON, loop.time()
            if not data:
                await asyncio.sleep(gap)
                gap = min(gap * 1.5, SELDOM)
    finally:
        file.close()


def event(data: bytes) -> bytes:
    return b"".join(b"data: %b\n" % line for line in data.split(b"\n")) + b"\n"


class _Growing:
    """A file that is being written, and how far it has been read.

    It is read in a thread that goes on for a moment when whoever follows has left: hence the
    lock, and that it can be closed for good.
    """

    def __init__(self, log: Log) -> None:
        self._log = log
        self._lock = Lock()
        self._over = False
        self._descriptor: int | None = None
        self._at = 0
        self._looked = False
        """Whatever is found after the first look is new, from its first byte."""

    def open(self) -> None:
        """Find the file, if it is there."""
        with self._lock:
            self._open()

    def read(self, *, whole: bool) -> bytes:
        """Return what has been added; if `whole`, not the beginning of a character."""
        with self._lock:
            if self._descriptor is None:
                self._open()
            return b"" if self._descriptor is None else self._read(self._descriptor, whole=whole)

    def close(self) -> None:
        with self._lock:
            self._over = True
            self._let_go()

    def _open(self) -> None:
        if self._over:
            return
        with suppress(OSError):
            self._descriptor = open_log(self._log)
        if self._descriptor is not None:
            size = os.fstat(self._descriptor).st_size
            self._at = 0 if self._looked else max(size - BEFORE_END, 0)
            self._at += rest(os.pread(self._descriptor, 4, self._at)) if self._at else 0
        self._looked = True

    def _read(self, descriptor: int, *, whole: bool) -> bytes:
        found = os.fstat(descriptor)
        if found.st_nlink == 0:  # removed; another may be in its place, now or later
            self._let_go()
            return b""
        if found.st_size < self._at:
            self._at = 0
        data = os.pread(descriptor, PIECE, self._at)
        if whole:
            data = data[: len(data) - begun(data)]
        self._at += len(data)
        return data

    def _let_go(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

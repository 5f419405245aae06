"""Take bytes in: written and hashed by a thread while the next ones arrive.

What arrives lies where nobody looks until it is whole and is what was announced.
"""

import asyncio
import errno
import hashlib
import os
import threading
from collections.abc import Callable

from clusterra.adapters.objects_local.threads import THREADS
from clusterra.core.errors import Refused

PIECE = 512 << 10
"""Bytes that are written at a time: enough that changing to a thread costs nothing, and few enough to
be in the processor's cache still when they are hashed."""


class FileIntake:
    """Bytes on their way to a place in an open file."""

    def __init__(
        self,
        descriptor: int,
        *,
        size: int,
        sha256: str,
        done: Callable[[str], None],
        dropped: Callable[[], None],
        offset: int = 0,
    ) -> None:
        """`done` is given the checksum and makes it visible, `dropped` removes it."""
        self.size = size
        self._descriptor = descriptor
        self._sha256 = sha256
        self._done, self._dropped = done, dropped
        self._offset, self._written = offset, 0
        self._hash = hashlib.sha256()
        self._gathered: list[bytes] = []
        self._gathered_size = 0
        self._writing: asyncio.Future[tuple[None, None]] | None = None
        self._using = threading.Lock()
        self._closed = False
        """Read and set by whoever uses the file. Somebody who gives up waiting does not stop the
        thread that writes, and a number that was closed may by then be another file's."""

    async def write(self, data: bytes) -> None:
        self._gathered.append(data)
        self._gathered_size += len(data)
        if self._written + self._gathered_size > self.size:
            raise _wrong(f"More than the announced {self.size:,} bytes came.", "wrong-length")
        if self._gathered_size >= PIECE:
            await self._flush()

    async def finish(self) -> str:
        await self._flush()
        await self._wait()
        if self._written != self.size:
            raise _wrong(
                f"{self._written:,} bytes came, and {self.size:,} were announced.", "wrong-length"
            )
        found = self._hash.hexdigest()
        if self._sha256 and found != self._sha256:
            raise _wrong(
                f"What came has the checksum {found[:12]}…, and {self._sha256[:12]}… was announced.",
                "wrong-checksum",
            )
        await asyncio.to_thread(_telling, self._finish, found)
        return found

    async def drop(self) -> None:
        if not self._closed:
            await asyncio.to_thread(self._drop)

    def _finish(self, found: str) -> None:
        with self._using:
            os.fsync(self._descriptor)
            self._done(found)
            self._close()

    def _drop(self) -> None:
        with self._using:
            if not self._closed:
                self._close()
                self._dropped()

    def _close(self) -> None:
        self._closed = True
        os.close(self._descriptor)

    async def _flush(self) -> None:
        await self._wait()
        pieces, self._gathered = self._gathered, []
        place, self._written = self._offset + self._written, self._written + self._gathered_size
        self._gathered_size = 0
        if pieces:
            loop = asyncio.get_running_loop()
            # The two do not wait for each other: both let go of the interpreter.
            self._writing = asyncio.gather(
                loop.run_in_executor(THREADS, self._put, pieces, place),
                loop.run_in_executor(THREADS, self._sum, pieces),
            )

    async def _wait(self) -> None:
        writing, self._writing = self._writing, None
        if writing is not None:
            await writing

    def _put(self, pieces: list[bytes], place: int) -> None:
        with self._using:
            if not self._closed:
                _telling(self._write_out, pieces, place)

    def _sum(self, pieces: list[bytes]) -> None:
        for each in pieces:
            self._hash.update(each)

    def _write_out(self, pieces: list[bytes], place: int) -> None:
        for start in range(0, len(pieces), _MOST_AT_ONCE):
            some = pieces[start : start + _MOST_AT_ONCE]
            wanted = sum(len(each) for each in some)
            written = os.pwritev(self._descriptor, some, place)
            if written < wanted:  # rare: a signal, a disk that is nearly full
                _write_rest(self._descriptor, b"".join(some)[written:], place + written)
            place += wanted


_MOST_AT_ONCE = 512
"""Buffers in one call; the system takes 1,024."""


def _write_rest(descriptor: int, rest: bytes, place: int) -> None:
    while rest:
        written = os.pwrite(descriptor, rest, place)
        rest, place = rest[written:], place + written


def _telling(act: Callable[..., None], *given: object) -> None:
    """Do what writes to the disk; say it when that is full."""
    try:
        act(*given)
    except OSError as error:
        raise unwritable(error) from None


def unwritable(error: OSError) -> Refused:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    return Refused(
        "There is no room left for it." if full else f"It cannot be written: {error.strerror}.",
        hint="Delete files that are not needed, or ask whoever runs the server for more room.",
        code="no-space" if full else "unwritable",
    )


def _wrong(detail: str, code: str) -> Refused:
    return Refused(
        detail, hint="Nothing was kept. Ask for a new link, with what you send.", code=code
    )

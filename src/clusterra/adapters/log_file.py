"""An open file that somebody writes to, and waiting for it to grow.

The kernel tells when it is written to; where it does not (another machine writes, over a network
file system, or no more can be watched) the file is looked at again and again, the oftener the
less can be relied on being told.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager
from threading import Lock

from clusterra.adapters.inotify import FILE, Inotify
from clusterra.core.errors import Unreachable
from clusterra.ports import Output

PIECE = 1 << 20
SOON, SELDOM = 0.05, 0.5
"""Seconds between two looks at a file of which nobody tells."""


class LogFile:
    def __init__(self, descriptor: int, inotify: Inotify) -> None:
        found = os.fstat(descriptor)
        self.file = f"{found.st_dev:x}.{found.st_ino:x}"
        self.size = found.st_size
        self._descriptor = descriptor
        self._inotify = inotify
        self._lock = Lock()
        self._readers = 0
        self._closed = False
        self._leave: Callable[[], None] | None = None
        self._deaf = False
        """It has grown without anybody telling."""
        self._stirred = asyncio.Event()

    async def read(self, start: int, most: int) -> Output:
        return await asyncio.to_thread(self._read, start, most)

    async def pieces(self, start: int, stop: int) -> AsyncGenerator[bytes, None]:
        following = asyncio.create_task(self.read(start, min(PIECE, stop - start)))
        try:
            while data := (await following).data:
                start += len(data)
                # Read on while whoever asked is busy with this.
                following = asyncio.create_task(self.read(start, min(PIECE, stop - start)))
                yield data
        finally:
            following.cancel()

    async def grown(self, beyond: int, seconds: float) -> None:
        self._watch()
        gap = SOON
        ends = asyncio.get_running_loop().time() + seconds
        while (left := ends - asyncio.get_running_loop().time()) > 0:
            told = self._stirred.is_set()
            self._stirred.clear()
            if await asyncio.to_thread(self._length) != beyond:
                if gap > SOON:
                    self._deaf = not told
                return
            if told:
                return  # not its length then; its name, perhaps
            blind = self._leave is None or self._deaf
            gap = min(gap * 1.5, SELDOM)
            try:
                async with asyncio.timeout(min(left, gap if blind else 2 * SELDOM)):
                    await self._stirred.wait()
            except TimeoutError:
                continue

    def close(self) -> None:
        if self._leave is not None:
            self._leave()
            self._leave = None
        with self._lock:
            if not self._closed and not self._readers:
                os.close(self._descriptor)
            self._closed = True

    def _watch(self) -> None:
        if self._leave is None and not self._closed:
            try:
                self._leave = self._inotify.watch(self._descriptor, FILE, self._stirred.set)
            except OSError:
                return

    def _read(self, start: int, most: int) -> Output:
        with self._held():
            try:
                data = os.pread(self._descriptor, most, start)
                size = os.fstat(self._descriptor).st_size
            except OSError as error:
                raise Unreachable(
                    f"The output cannot be read at present: {error.strerror}.",
                    hint="Ask again in a moment.",
                ) from None
            return Output(
                data=data, offset=start, size=max(size, start + len(data)) if data else size
            )

    def _length(self) -> int:
        with self._held():
            return os.fstat(self._descriptor).st_size

    @contextmanager
    def _held(self) -> Iterator[None]:
        """Keep the descriptor open: a thread goes on for a moment when whoever waited has left."""
        with self._lock:
            if self._closed:
                raise Unreachable("The output was closed while it was read.", hint="Ask again.")
            self._readers += 1
        try:
            yield
        finally:
            with self._lock:
                self._readers -= 1
                if self._closed and not self._readers:
                    os.close(self._descriptor)

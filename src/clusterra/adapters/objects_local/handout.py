"""Hand a file out: read by a thread, a piece ahead of what is being sent."""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping

from clusterra.adapters.objects_local.threads import THREADS

PIECE = 512 << 10


class FileHandout:
    def __init__(self, descriptor: int, headers: Mapping[str, str]) -> None:
        self._descriptor = descriptor
        self.size = os.fstat(descriptor).st_size
        self.headers = headers

    async def pieces(self, start: int, stop: int) -> AsyncIterator[bytes]:
        """Yield the bytes from `start` up to `stop`; fewer if somebody cuts the file meanwhile."""
        ahead = self._begin(start, stop)
        try:
            while ahead is not None and (piece := await ahead):
                start += len(piece)
                ahead = self._begin(start, stop)
                yield piece
        finally:
            if ahead is not None:
                await asyncio.wait([ahead])

    def close(self) -> None:
        os.close(self._descriptor)

    def _begin(self, start: int, stop: int) -> asyncio.Future[bytes] | None:
        size = min(PIECE, stop - start)
        if size <= 0:
            return None
        loop = asyncio.get_running_loop()
        return loop.run_in_executor(THREADS, os.pread, self._descriptor, size, start)

"""The archive in a dict: for tests and demos. It does not outlive the process."""

from collections import defaultdict
from collections.abc import AsyncIterator, Sequence


class MemoryArchive:
    def __init__(self) -> None:
        self._checkpoints: defaultdict[str, list[str]] = defaultdict(list)
        self._segments: defaultdict[str, dict[int, bytes]] = defaultdict(dict)

    async def add(self, cluster: str, checkpoint: str) -> None:
        self._checkpoints[cluster].append(checkpoint)

    async def checkpoints(self, cluster: str) -> AsyncIterator[str]:
        for checkpoint in list(self._checkpoints[cluster]):
            yield checkpoint

    async def newest(self, cluster: str) -> str | None:
        return next(reversed(self._checkpoints[cluster]), None)

    async def keep(self, cluster: str, first: int, lines: AsyncIterator[bytes]) -> None:
        self._segments[cluster][first] = b"".join([line async for line in lines])

    async def segments(self, cluster: str) -> Sequence[int]:
        return sorted(self._segments[cluster])

    async def segment(self, cluster: str, first: int) -> AsyncIterator[bytes]:
        yield self._segments[cluster][first]

"""The archive as a directory: checkpoints in one file that only grows, segments beside it.

    <directory>/<cluster>/checkpoints          one JSON line each, as in an export
    <directory>/<cluster>/00000000000000000001.ledger

It stands outside the database so that an older copy of the database put back is
noticed. Put the directory on another disk, or copy it somewhere else, and it also
tells of whoever can write both.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import msgspec

from clusterra.core.errors import NotFound, Refused

CHUNK = 1 << 20
TAIL = 1 << 16
"""Far more than the longest line of a checkpoint."""


class _Line(msgspec.Struct):
    checkpoint: str


class LocalArchive:
    def __init__(self, directory: Path) -> None:
        self._directory = directory

    async def add(self, cluster: str, checkpoint: str) -> None:
        line = msgspec.json.encode({"checkpoint": checkpoint}) + b"\n"
        await asyncio.to_thread(self._add, self._checkpoints(cluster), line)

    async def checkpoints(self, cluster: str) -> AsyncIterator[str]:
        try:
            file = self._checkpoints(cluster).open("rb")
        except FileNotFoundError:
            return
        with file:
            while lines := await asyncio.to_thread(file.readlines, CHUNK):
                for line in lines:
                    if line.endswith(b"\n"):
                        yield _read(line)

    async def newest(self, cluster: str) -> str | None:
        line, _ = await asyncio.to_thread(_last_line, self._checkpoints(cluster))
        return _read(line) if line else None

    async def keep(self, cluster: str, first: int, lines: AsyncIterator[bytes]) -> None:
        path = self._segment(cluster, first)
        beside = path.with_suffix(".part")
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with beside.open("wb") as file:
                async for line in lines:
                    await asyncio.to_thread(file.write, line)
                file.flush()
                await asyncio.to_thread(os.fsync, file.fileno())
            beside.replace(path)
            await asyncio.to_thread(_sync_directory, path.parent)
        except OSError as error:
            raise _unwritable(path, error) from None

    async def segments(self, cluster: str) -> Sequence[int]:
        found = (self._directory / cluster).glob("*.ledger")
        return sorted(int(path.stem) for path in found)

    async def segment(self, cluster: str, first: int) -> AsyncIterator[bytes]:
        try:
            file = self._segment(cluster, first).open("rb")
        except FileNotFoundError:
            raise NotFound(
                f"No segment of {cluster} begins with event {first}.",
                hint=f"Those there are lie in {self._directory / cluster}.",
            ) from None
        with file:
            while chunk := await asyncio.to_thread(file.read, CHUNK):
                yield chunk

    def _checkpoints(self, cluster: str) -> Path:
        return self._directory / cluster / "checkpoints"

    def _segment(self, cluster: str, first: int) -> Path:
        return self._directory / cluster / f"{first:020d}.ledger"

    def _add(self, path: Path, line: bytes) -> None:
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            is_new = not path.exists()
            _, torn = _last_line(path)
            with path.open("ab") as file:
                if torn:
                    # Left by a death in the middle of writing; nobody was told that it is there.
                    file.truncate(path.stat().st_size - torn)
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
            if is_new:
                _sync_directory(path.parent)
                _sync_directory(path.parent.parent)
        except OSError as error:
            raise _unwritable(path, error) from None


def _read(line: bytes) -> str:
    return msgspec.json.decode(line, type=_Line).checkpoint


def _last_line(path: Path) -> tuple[bytes, int]:
    """Return the last line that was written to its end, and how many bytes follow it."""
    try:
        with path.open("rb") as file:
            file.seek(-min(TAIL, file.seek(0, os.SEEK_END)), os.SEEK_END)
            *whole, torn = file.read().split(b"\n")
    except FileNotFoundError:
        return b"", 0
    return (whole[-1] if whole else b""), len(torn)


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _unwritable(path: Path, error: OSError) -> Refused:
    return Refused(
        f"{path} cannot be written: {error.strerror}.",
        hint="Check the free space and the permissions there, or name another directory"
        " with ledger.archive.",
        code="archive-unwritable",
    )

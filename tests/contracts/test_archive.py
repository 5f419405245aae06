"""Promises every Archive keeps."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from clusterra.adapters.archive_local import LocalArchive
from clusterra.adapters.memory_archive import MemoryArchive
from clusterra.ports import Archive

LAB = "cluslab1"


@pytest.fixture(params=["memory", "local"])
def archive(request: pytest.FixtureRequest, tmp_path: Path) -> Archive:
    return MemoryArchive() if request.param == "memory" else LocalArchive(tmp_path / "ledger")


async def lines(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


async def all_of(archive: Archive, cluster: str = LAB) -> list[str]:
    return [note async for note in archive.checkpoints(cluster)]


async def read(archive: Archive, first: int) -> bytes:
    return b"".join([part async for part in archive.segment(LAB, first)])


def test_checkpoints_come_back_in_the_order_they_were_added(archive: Archive) -> None:
    async def story() -> None:
        assert await archive.newest(LAB) is None
        assert await all_of(archive) == []
        notes = [f"clusterra/{LAB}\n{n}\nröot\n\n— a b\n" for n in range(50)]
        for note in notes:
            await archive.add(LAB, note)
            assert await archive.newest(LAB) == note
        await archive.add("clusother", "x")

        assert await all_of(archive) == notes
        assert await all_of(archive, "clusother") == ["x"]

    asyncio.run(story())


def test_a_segment_is_kept_whole_and_one_that_begins_there_takes_its_place(
    archive: Archive,
) -> None:
    async def story() -> None:
        await archive.keep(LAB, 1, lines(b"one\n", b"two\n"))
        await archive.keep(LAB, 11, lines(b"three\n"))
        assert await archive.segments(LAB) == [1, 11]
        assert await read(archive, 1) == b"one\ntwo\n"

        await archive.keep(LAB, 1, lines(b"one\n"))
        assert await archive.segments(LAB) == [1, 11]
        assert await read(archive, 1) == b"one\n"
        assert await archive.segments("clusother") == []

    asyncio.run(story())


def test_a_segment_that_fails_on_the_way_leaves_what_was_there(archive: Archive) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b"half\n"
        raise LookupError

    async def story() -> None:
        await archive.keep(LAB, 1, lines(b"whole\n"))
        for first in (1, 2):
            with pytest.raises(LookupError):
                await archive.keep(LAB, first, broken())

        assert await archive.segments(LAB) == [1]
        assert await read(archive, 1) == b"whole\n"

    asyncio.run(story())

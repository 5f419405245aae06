"""What only the archive in a directory promises."""

import asyncio
import stat
from pathlib import Path

import pytest

from clusterra.adapters.archive_local import LocalArchive
from clusterra.adapters.ledger_key import LedgerKey, open_key
from clusterra.core.errors import Invalid, NotFound, Refused
from clusterra.core.events.checkpoint import read_secret

LAB = "cluslab1"


@pytest.mark.parametrize("torn", [b"{", b'{"checkpoint":"tw', b'{"checkpoint":"two"}'])
def test_what_a_death_left_half_written_is_not_there_and_not_in_the_way(
    tmp_path: Path, torn: bytes
) -> None:
    async def story() -> None:
        archive = LocalArchive(tmp_path)
        await archive.add(LAB, "one")
        with (tmp_path / LAB / "checkpoints").open("ab") as file:
            file.write(torn)

        assert await archive.newest(LAB) == "one"
        assert [note async for note in archive.checkpoints(LAB)] == ["one"]
        await archive.add(LAB, "two")
        assert [note async for note in archive.checkpoints(LAB)] == ["one", "two"]

    asyncio.run(story())


def test_nobody_else_may_look_into_it(tmp_path: Path) -> None:
    asyncio.run(LocalArchive(tmp_path / "ledger").add(LAB, "one"))

    assert stat.S_IMODE((tmp_path / "ledger" / LAB).stat().st_mode) == 0o700


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "ledger").write_text("in the way")
    archive = LocalArchive(tmp_path / "ledger")

    with pytest.raises(Refused, match="cannot be written") as refused:
        asyncio.run(archive.add(LAB, "one"))
    assert refused.value.code == "archive-unwritable"


def test_a_segment_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    async def story() -> None:
        with pytest.raises(NotFound, match="begins with event 7"):
            async for _ in LocalArchive(tmp_path).segment(LAB, 7):
                pass

    asyncio.run(story())


def test_the_key_is_made_once_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    path = tmp_path / "ledger.key"

    made = open_key(path)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert open_key(path).public == made.public
    assert LedgerKey(read_secret(path.read_text())).public == made.public
    assert [each.name for each in tmp_path.iterdir()] == ["ledger.key"]


def test_a_key_that_cannot_be_read_stops_the_start_and_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "ledger.key"
    path.write_text("not a key\n")

    with pytest.raises(Invalid, match="cannot be read"):
        open_key(path)
    assert path.read_text() == "not a key\n"

"""Old events go into the archive whole, and out of the database only then."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from itertools import pairwise

import pytest

from clusterra.adapters.memory_archive import MemoryArchive
from clusterra.control.seal import SEGMENT, seal, segment_id
from clusterra.core.change import Change
from clusterra.core.errors import Refused
from clusterra.core.events.chain import Head
from clusterra.core.events.event import EventQuery
from clusterra.core.events.reading import Verdict
from clusterra.core.events.segment import read_header
from clusterra.core.events.verify import Memory, verify
from tests.ledger import LAB, Ledger, a_draft

MONTH = timedelta(days=30)
DAY = timedelta(days=1)


async def put_away(ledger: Ledger, *, most: int = 10) -> bool:
    return await seal(
        LAB,
        keep=MONTH,
        most=most,
        key=ledger.checkpointer.key,
        store=ledger.store,
        archive=ledger.archive,
        clock=ledger.clock,
    )


async def segment(ledger: Ledger, first: int) -> list[bytes]:
    parts = [part async for part in ledger.archive.segment(LAB, first)]
    return b"".join(parts).removesuffix(b"\n").split(b"\n")


async def numbers(ledger: Ledger) -> list[int]:
    return [event.seq for event in await ledger.store.events(LAB, EventQuery(limit=1000))]


def test_what_is_old_is_sealed_where_a_checkpoint_was_signed_and_what_is_not_stays() -> None:
    async def story() -> None:
        ledger = Ledger()
        await ledger.grow_and_sign(4, 5, 6)
        ledger.clock.advance(MONTH + DAY)
        await ledger.grow_and_sign(3)

        assert await put_away(ledger)
        assert await numbers(ledger) == list(range(10, 19))
        assert await put_away(ledger)
        assert await numbers(ledger) == [16, 17, 18]
        assert not await put_away(ledger)

        assert await ledger.archive.segments(LAB) == [1, 10]
        records = await ledger.store.list(SEGMENT, f"{LAB}/")
        assert [record.id for record in records] == [segment_id(LAB, 1), segment_id(LAB, 10)]
        assert [(each.value.first, each.value.last) for each in records] == [(1, 9), (10, 15)]

    asyncio.run(story())


def test_nothing_is_sealed_a_moment_too_early() -> None:
    async def story() -> None:
        ledger = Ledger()
        await ledger.grow_and_sign(4)
        ledger.clock.advance(MONTH + DAY - timedelta(seconds=61))
        assert not await put_away(ledger)
        ledger.clock.advance(timedelta(seconds=61))
        assert await put_away(ledger)

    asyncio.run(story())


def test_a_full_segment_is_sealed_without_waiting_for_the_day_to_end() -> None:
    async def story() -> None:
        ledger = Ledger()
        await ledger.grow_and_sign(4, 6, 4)
        ledger.clock.advance(MONTH)

        assert await put_away(ledger)
        assert not await put_away(ledger)
        assert await numbers(ledger) == [11, 12, 13, 14]

    asyncio.run(story())


def test_segments_and_what_is_left_are_verified_by_themselves_and_follow_from_each_other() -> None:
    async def story() -> None:
        ledger = Ledger()
        await ledger.grow_and_sign(4, 5, 6)
        whole = await ledger.export()
        ledger.clock.advance(MONTH + 2 * DAY)
        await ledger.grow_and_sign(3)
        while await put_away(ledger):
            pass

        parts = [await segment(ledger, 1), await segment(ledger, 10), await ledger.export()]

        reports = [verify(part, memory=Memory(key=ledger.checkpointer.key)) for part in parts]
        assert [report.verdict for report in reports] == [Verdict.INTACT] * 3
        assert [(report.first, report.last) for report in reports] == [(1, 9), (10, 15), (16, 18)]
        for before, after in pairwise(parts):
            last = [line for line in before if not line.startswith(b"{")][-1]
            assert read_header(after[0]).before.chain.hex().encode() == last[:64]
        events = [line for part in parts for line in part if not line.startswith(b"{")]
        assert events[:15] == [line for line in whole if not line.startswith(b"{")]

    asyncio.run(story())


class Dying(MemoryArchive):
    """Keeps the file, and dies before anybody is told."""

    async def keep(self, cluster: str, first: int, lines: AsyncIterator[bytes]) -> None:
        await super().keep(cluster, first, lines)
        raise KeyboardInterrupt


def test_a_death_between_the_file_and_the_database_is_completed_by_the_next_round() -> None:
    async def story() -> None:
        archive = Dying()
        ledger = Ledger(archive=archive)
        await ledger.grow_and_sign(4, 5)
        ledger.clock.advance(MONTH + DAY)
        with pytest.raises(KeyboardInterrupt):
            await put_away(ledger, most=5)
        assert await numbers(ledger) == list(range(1, 10))

        ledger.archive = MemoryArchive()
        ledger.archive.__dict__.update(archive.__dict__)
        assert await put_away(ledger, most=100)

        assert await ledger.archive.segments(LAB) == [1]
        assert verify(await segment(ledger, 1)).last == 9
        assert await numbers(ledger) == []

    asyncio.run(story())


def test_what_is_not_what_was_signed_is_not_sealed() -> None:
    async def story() -> None:
        ledger, other = Ledger(), Ledger()
        await ledger.grow_and_sign(4)
        await other.grow_and_sign(4, name="other")
        other.archive = ledger.archive
        other.clock.advance(MONTH + DAY)

        with pytest.raises(Refused, match="are not what was signed"):
            await put_away(other)

        assert await numbers(other) == [1, 2, 3, 4]
        assert await ledger.archive.segments(LAB) == []

    asyncio.run(story())


def test_events_that_were_sealed_do_not_come_again() -> None:
    async def story() -> None:
        ledger = Ledger()
        await ledger.grow_and_sign(4)
        ledger.clock.advance(MONTH + DAY)
        await put_away(ledger)
        assert await ledger.store.cut(LAB) == await ledger.store.head(LAB) != Head()

        assert await ledger.store.commit(LAB, Change(events=[a_draft(2), a_draft(5)])) == 5

    asyncio.run(story())

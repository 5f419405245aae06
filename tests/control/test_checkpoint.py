"""What is signed stays signed, and a database behind it is found out."""

import asyncio
from datetime import timedelta

import pytest

from clusterra.adapters.ledger_key import LedgerKey
from clusterra.adapters.memory import MemoryStore
from clusterra.control.checkpoint import CODE, Checkpointer
from clusterra.core.change import Change
from clusterra.core.errors import Refused
from clusterra.core.events.checkpoint import read_note
from clusterra.core.events.event import EventQuery
from clusterra.core.events.reading import Verdict
from clusterra.core.events.verify import verify
from tests.builders import NOON
from tests.ledger import LAB, SEED, Ledger, a_draft


async def sizes(ledger: Ledger) -> list[int]:
    return [read_note(note).checkpoint.size async for note in ledger.archive.checkpoints(LAB)]


def beside(ledger: Ledger, store: MemoryStore) -> Checkpointer:
    """Return what opens another database beside the same archive."""
    return Checkpointer(
        cluster=LAB,
        store=store,
        archive=ledger.archive,
        signer=LedgerKey(SEED),
        clock=ledger.clock,
    )


def test_a_head_is_signed_once_and_only_if_it_moved() -> None:
    async def story() -> None:
        ledger = Ledger()
        assert not await ledger.checkpointer.sign()
        await ledger.grow(3)
        assert await ledger.checkpointer.sign()
        assert not await ledger.checkpointer.sign()
        await ledger.grow(1)
        assert await ledger.checkpointer.sign()

        assert await sizes(ledger) == [3, 4]
        newest = read_note(await ledger.archive.newest(LAB) or "")
        assert newest.is_by(ledger.checkpointer.key)
        assert newest.checkpoint.root == (await ledger.store.head(LAB)).root
        assert newest.checkpoint.at == NOON

    asyncio.run(story())


def test_several_who_sign_at_once_make_one_checkpoint() -> None:
    async def story() -> None:
        ledger = Ledger()
        await ledger.grow(3)
        assert sorted(await asyncio.gather(*(ledger.checkpointer.sign() for _ in range(5)))) == [
            *([False] * 4),
            True,
        ]
        assert await sizes(ledger) == [3]

    asyncio.run(story())


def test_a_checkpoint_that_did_not_reach_the_archive_is_brought_there_later() -> None:
    async def story() -> None:
        ledger = Ledger()
        await ledger.grow_and_sign(3)
        lost = Ledger()
        lost.store = ledger.store  # the same database, and an archive that missed it

        again = Checkpointer(
            cluster=LAB,
            store=ledger.store,
            archive=lost.archive,
            signer=LedgerKey(SEED),
            clock=ledger.clock,
        )
        await again.open()
        assert not await again.sign()

        assert await lost.archive.newest(LAB) == await ledger.archive.newest(LAB)
        assert await ledger.store.commit(LAB, Change(events=[a_draft(99)])) == 4

    asyncio.run(story())


async def older_copy(events: int, *, signed: bool) -> MemoryStore:
    """Return a database as it was when it held so many events."""
    copy = Ledger()
    if events:
        await copy.grow(events)
    if signed:
        await copy.checkpointer.sign()
    return copy.store


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("events", [0, 1, 4])
def test_a_database_behind_its_last_checkpoint_takes_nothing_and_says_why(
    events: int, signed: bool
) -> None:
    async def story() -> None:
        ledger = Ledger()
        await ledger.grow_and_sign(3, 2)
        store = await older_copy(events, signed=signed and events > 0)
        opened = beside(ledger, store)

        await opened.open()

        assert f"covers 5 events; the database holds {events}" in opened.why_held
        with pytest.raises(Refused, match="signed on 2026-03-02 12:02:00 UTC") as refused:
            await store.commit(LAB, Change(events=[a_draft(99)]))
        assert refused.value.code == CODE
        assert "copy" in refused.value.hint
        assert len(await store.events(LAB, EventQuery())) == events
        assert not await opened.sign()
        assert await sizes(ledger) == [3, 5]

    asyncio.run(story())


def test_a_database_with_as_many_events_but_others_takes_nothing() -> None:
    async def story() -> None:
        ledger, other = Ledger(), Ledger()
        await ledger.grow_and_sign(5)
        await other.grow_and_sign(5, name="other")
        opened = beside(ledger, other.store)

        await opened.open()

        assert "holds as many, but others" in opened.why_held

    asyncio.run(story())


def test_a_database_that_grew_past_a_checkpoint_it_never_knew_takes_nothing() -> None:
    async def story() -> None:
        ledger, other = Ledger(), Ledger()
        await ledger.grow_and_sign(5)
        await other.grow_and_sign(3, name="other")
        await other.grow(9, name="other")
        opened = beside(ledger, other.store)

        await opened.open()
        assert "the database knows of one of 3" in opened.why_held

        fork = Ledger()
        await fork.grow_and_sign(5, name="fork")
        await fork.grow(1, name="fork")
        opened = beside(ledger, fork.store)
        await opened.open()
        assert "knows another of that size" in opened.why_held

    asyncio.run(story())


def test_a_database_that_is_ahead_of_its_checkpoint_goes_on() -> None:
    async def story() -> None:
        ledger = Ledger()
        await ledger.grow_and_sign(5)
        await ledger.grow(3)
        opened = beside(ledger, ledger.store)

        await opened.open()

        assert opened.why_held == ""
        assert await ledger.store.commit(LAB, Change(events=[a_draft(99)])) == 9

    asyncio.run(story())


def test_what_a_database_put_back_would_show_is_told_as_cut_short() -> None:
    async def story() -> None:
        ledger = Ledger()
        await ledger.grow_and_sign(3, 2)
        held = Ledger(archive=ledger.archive)
        await held.grow(4)
        await held.checkpointer.open()

        report = verify(await held.export())

        assert report.verdict is Verdict.INCOMPLETE
        assert "covers 5 events; the last one here is 4" in report.findings[0].says

    asyncio.run(story())


def test_a_plane_that_starts_again_signs_what_the_last_one_did_not() -> None:
    async def story() -> None:
        ledger = Ledger()
        await ledger.grow_and_sign(2)
        await ledger.grow(2)
        ledger.clock.advance(timedelta(hours=1))
        again = beside(ledger, ledger.store)
        await again.open()
        await again.sign()
        assert await sizes(ledger) == [2, 4]

    asyncio.run(story())

"""Several ledgers read as one, newest first, by the page: nothing missed, nothing twice."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from clusterra.adapters.memory import MemoryStore
from clusterra.control.people.audit import Allowed, audit
from clusterra.core.change import Change
from clusterra.core.events.event import Event, EventQuery
from clusterra.ports import Store
from tests.builders import NOON
from tests.ledger import a_draft

LEDGERS = ("bio", "lab", "cluslab1")

moments = st.lists(st.tuples(st.sampled_from(LEDGERS), st.integers(0, 12)), max_size=40)
"""In which ledger something happened, and at which second."""


def everything(_: Event) -> bool:
    return True


def even_jobs(event: Event) -> bool:
    return int(event.subject.removeprefix("job/")) % 2 == 0


async def filled(store: Store, happened: list[tuple[str, int]]) -> None:
    for n, (ledger, second) in enumerate(happened):
        draft = a_draft(n, at=NOON + timedelta(seconds=second), cluster=ledger)
        await store.commit(ledger, Change(events=[draft]))


async def pages(
    store: Store, limit: int, allowed: Allowed = everything, query: EventQuery | None = None
) -> list[list[Event]]:
    read: list[list[Event]] = []
    before: Mapping[str, int] | None = {}
    asked = replace(query or EventQuery(), limit=limit)
    while before is not None:
        page = await audit(dict.fromkeys(LEDGERS, allowed), asked, before=before, store=store)
        read.append(list(page.events))
        before = page.next
    return read


@given(moments, st.integers(1, 7), st.sampled_from([everything, even_jobs]))
def test_pages_have_every_event_once_and_each_ledger_in_its_own_order(
    happened: list[tuple[str, int]], limit: int, allowed: Allowed
) -> None:
    async def story() -> None:
        store = MemoryStore()
        await filled(store, happened)

        read = await pages(store, limit, allowed)

        found = [event for page in read for event in page]
        for ledger in LEDGERS:
            kept = [event for event in await store.events(ledger, EventQuery()) if allowed(event)]
            assert [event for event in found if event.cluster == ledger] == kept[::-1]
        assert all(len(page) == limit for page in read[:-1])
        assert read[-1] or len(read) == 1

    asyncio.run(story())


@given(moments, st.integers(1, 7))
def test_between_ledgers_the_moment_decides(happened: list[tuple[str, int]], limit: int) -> None:
    async def story() -> None:
        store = MemoryStore()
        await filled(store, sorted(happened, key=lambda each: each[1]))

        found = [event.at for page in await pages(store, limit) for event in page]

        assert found == sorted(found, reverse=True)

    asyncio.run(story())


def test_what_happens_while_somebody_reads_moves_no_page(store: Store) -> None:
    async def story() -> None:
        await filled(store, [(LEDGERS[n % 3], n) for n in range(12)])
        ledgers, query = dict.fromkeys(LEDGERS, everything), EventQuery(limit=5)
        first = await audit(ledgers, query, before={}, store=store)
        assert first.next is not None

        for n in range(100, 105):
            late = a_draft(n, at=NOON + timedelta(seconds=n), cluster="lab")
            await store.commit("lab", Change(events=[late]))
        second = await audit(ledgers, query, before=first.next, store=store)

        seen = [event.subject for event in (*first.events, *second.events)]
        assert seen == [f"job/{n}" for n in range(11, 1, -1)]

    asyncio.run(story())


def test_only_what_is_asked_for_is_found_and_only_in_the_ledgers_named(store: Store) -> None:
    async def story() -> None:
        await filled(store, [("lab", 1), ("bio", 2), ("lab", 3)])

        one = await audit({"lab": everything}, EventQuery(subject="job/2"), before={}, store=store)
        none = await audit({"lab": everything}, EventQuery(actor="user:x"), before={}, store=store)
        nowhere = await audit({}, EventQuery(), before={}, store=store)

        assert [event.subject for event in one.events] == ["job/2"]
        assert (one.next, list(none.events), none.next) == (None, [], None)
        assert (list(nowhere.events), nowhere.next) == ([], None)

    asyncio.run(story())


def test_each_ledger_is_read_as_far_as_one_may(store: Store) -> None:
    async def story() -> None:
        await filled(store, [("lab", 1), ("bio", 2), ("lab", 3), ("bio", 4)])

        found = await audit(
            {"lab": everything, "bio": lambda _: False}, EventQuery(), before={}, store=store
        )

        assert {event.cluster for event in found.events} == {"lab"}

    asyncio.run(story())

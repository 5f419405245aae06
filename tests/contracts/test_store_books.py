"""Promises every Store keeps about its books: what the events brought, once, to the millionth."""

import asyncio
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clusterra.adapters.memory import MemoryStore
from clusterra.adapters.sqlite.store import SqliteStore
from clusterra.core.change import Change, Kind, Record
from clusterra.core.cost.books import (
    QUARTER,
    By,
    Entry,
    PaidRun,
    Payer,
    Run,
    RunQuery,
    Spending,
    Spent,
    Sums,
    What,
)
from clusterra.core.cost.charges import Charge, accrued
from clusterra.core.cost.periods import named
from clusterra.core.errors import Conflict, Invalid, Refused
from clusterra.core.events.event import Draft
from clusterra.ports import Store
from tests.builders import NOON
from tests.ledger import a_draft

LAB, OTHER = "cluslab1", "clusother"
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
ANA = Payer(person="ana@lab.org", account="physics", partition="main", template="align")
BOB = Payer(person="bob", account="biology", partition="gpu")
NOBODY = Payer()
COUNTER: Kind[int] = Kind("counter", int)


def charged(since: datetime, long: timedelta = HOUR, rate: int | None = 360_000) -> Charge:
    return Charge(since=since, until=since + long, usd_per_hour=rate)


def a_cost(*charges: Charge, payer: Payer = ANA, **more: Any) -> Entry:
    until = max((each.until for each in charges), default=NOON)
    known: dict[str, Any] = {"charges": charges, "until": until, "cpus": 4, "jobs": 1}
    return Entry(payer=payer, **(known | more))


def with_cost(n: int, *entries: Entry) -> Draft:
    return replace(a_draft(n), entries=entries)


def a_run(n: int = 1, restarts: int = 0) -> Run:
    return Run(job_id=n, born_at=NOON, restarts=restarts, label=str(n), name="align")


def asked(since: datetime = NOON - DAY, until: datetime = NOON + DAY, **more: Any) -> Spending:
    known: dict[str, Any] = {"clusters": (LAB,), "since": since, "until": until}
    return Spending(**(known | more))


def runs_in(since: datetime = NOON - DAY, until: datetime = NOON + DAY, **more: Any) -> RunQuery:
    known: dict[str, Any] = {"clusters": (LAB,), "since": since, "until": until}
    return RunQuery(**(known | more))


async def committed(store: Store, *entries: Entry, cluster: str = LAB) -> None:
    """Commit an event for each of them."""
    first = (await store.head(cluster)).size + 1
    drafts = [with_cost(n, entry) for n, entry in enumerate(entries, start=first)]
    await store.commit(cluster, Change(events=drafts))


async def total(store: Store, query: Spending) -> Sums:
    found = await store.spent(replace(query, by=()))
    assert [each.key for each in found] == [()] * len(found)
    return sum((each.sums for each in found), Sums())


def micros(found: Sequence[Spent]) -> dict[tuple[str, ...], int]:
    return {each.key: each.sums.micros for each in found}


ONE = Sums(micros=360_000, jobs=1, seconds=3600, cpu_seconds=4 * 3600)


# --- once


def test_what_an_event_brings_is_added_once_however_often_it_is_told(store: Store) -> None:
    async def story() -> None:
        one = with_cost(1, a_cost(charged(NOON)))
        assert await store.spent(asked()) == []

        await store.commit(LAB, Change(events=[one, one]))
        await store.commit(LAB, Change(events=[one]))
        again = replace(one, entries=(*one.entries, a_cost(charged(NOON), payer=BOB)))
        await store.commit(LAB, Change(events=[again]))

        assert await store.spent(asked()) == [Spent(key=(), sums=ONE)]

    asyncio.run(story())


def test_all_entries_of_an_event_are_added_and_those_told_at_once_too(store: Store) -> None:
    async def story() -> None:
        both = a_cost(charged(NOON)), a_cost(charged(NOON), payer=BOB)
        await asyncio.gather(
            *(store.commit(LAB, Change(events=[with_cost(n // 2, *both)])) for n in range(40))
        )

        found = await store.spent(asked(by=(By.PERSON,)))
        assert micros(found) == {("ana@lab.org",): 20 * 360_000, ("bob",): 20 * 360_000}

    asyncio.run(story())


def test_a_commit_that_fails_adds_nothing(store: Store) -> None:
    async def story() -> None:
        counter = Record(kind=COUNTER, id="a", value=1)
        await store.commit(LAB, Change(puts=[counter]))

        paid = with_cost(1, a_cost(charged(NOON), run=a_run()))
        with pytest.raises(Conflict):
            await store.commit(LAB, Change(puts=[counter], events=[paid]))
        store.hold(OTHER, Refused("It was changed."))
        with pytest.raises(Refused):
            await store.commit(OTHER, Change(events=[paid]))

        assert await store.spent(asked(clusters=(LAB, OTHER))) == []
        assert await store.paid_runs(runs_in(clusters=(LAB, OTHER))) == []
        await store.commit(LAB, Change(events=[paid]))
        assert await total(store, asked()) == ONE

    asyncio.run(story())


def test_what_cannot_be_sealed_adds_nothing_and_the_ledger_goes_on(store: Store) -> None:
    async def story() -> None:
        await store.commit(LAB, Change(events=[a_draft(1), a_draft(2)]))
        wrong = replace(await store.head(LAB), chain=bytes(32))
        paid = with_cost(3, a_cost(charged(NOON)))
        with pytest.raises(Conflict):
            await store.seal(LAB, wrong, Change(events=[paid]))
        assert await store.spent(asked()) == []

        assert await store.commit(LAB, Change(events=[paid])) == 3
        assert await store.commit(LAB, Change(events=[a_draft(4)])) == 4
        assert await total(store, asked()) == ONE

    asyncio.run(story())


def test_the_books_survive_and_go_on_where_they_were(tmp_path: Path) -> None:
    async def story() -> None:
        for n in (1, 2):
            store = SqliteStore(tmp_path / "clusterra.db")
            await store.commit(LAB, Change(events=[with_cost(n, a_cost(charged(NOON)))]))
            store.close()
        store = SqliteStore(tmp_path / "clusterra.db")
        await store.commit(LAB, Change(events=[with_cost(2, a_cost(charged(NOON)))]))
        assert await total(store, asked()) == ONE + ONE
        store.close()

    asyncio.run(story())


def test_an_array_that_ends_together_takes_few_rows(tmp_path: Path) -> None:
    async def story() -> None:
        store = SqliteStore(tmp_path / "clusterra.db")
        await committed(store, *[a_cost(charged(NOON), run=a_run(n)) for n in range(1000)])
        assert (await total(store, asked())).jobs == 1000
        store.close()

    asyncio.run(story())
    with closing(sqlite3.connect(tmp_path / "clusterra.db")) as db:
        # Four quarters of an hour, the one that began as they ended, and the day.
        assert db.execute("select count(*) from spent").fetchone() == (6,)
        assert db.execute("select count(*) from payer").fetchone() == (1,)
        assert db.execute("select count(*) from paid_run").fetchone() == (1000,)


# --- sums


def test_sums_are_told_apart_by_whatever_is_asked_in_the_order_asked(store: Store) -> None:
    async def story() -> None:
        await committed(
            store,
            a_cost(charged(NOON)),
            a_cost(charged(NOON), payer=replace(ANA, account="biology", template="")),
            a_cost(charged(NOON), payer=BOB),
            a_cost(charged(NOON, rate=7), payer=NOBODY, what=What.IDLE, jobs=0),
        )
        await committed(store, a_cost(charged(NOON, rate=5)), cluster=OTHER)

        async def by(*by: By, **more: Any) -> dict[tuple[str, ...], int]:
            found = await store.spent(asked(by=by, **more))
            assert [each.key for each in found] == sorted(each.key for each in found)
            return micros(found)

        hour = 360_000
        assert await by(By.PERSON) == {("",): 7, ("ana@lab.org",): 2 * hour, ("bob",): hour}
        assert await by(By.ACCOUNT) == {("",): 7, ("biology",): 2 * hour, ("physics",): hour}
        assert await by(By.PARTITION) == {("",): 7, ("gpu",): hour, ("main",): 2 * hour}
        assert await by(By.TEMPLATE) == {("",): 2 * hour + 7, ("align",): hour}
        assert await by(By.WHAT) == {("idle",): 7, ("job",): 3 * hour}
        assert await by(By.ACCOUNT, By.PERSON, what=frozenset({What.JOB})) == {
            ("biology", "ana@lab.org"): hour,
            ("biology", "bob"): hour,
            ("physics", "ana@lab.org"): hour,
        }
        assert await by(By.CLUSTER, clusters=(LAB, OTHER)) == {(LAB,): 3 * hour + 7, (OTHER,): 5}
        assert await by(By.CLUSTER, person="ana@lab.org", clusters=(LAB, OTHER)) == {
            (LAB,): 2 * hour,
            (OTHER,): 5,
        }
        assert await by(person="") == {(): 7}
        assert await by(person="eve") == {}
        assert await by(clusters=()) == {}
        assert await by(what=frozenset()) == {}

    asyncio.run(story())


def test_what_is_not_known_adds_its_time_and_that_it_is_not_known(store: Store) -> None:
    async def story() -> None:
        unknown = charged(NOON + HOUR, rate=None)
        await committed(
            store,
            a_cost(charged(NOON), unknown, why_unknown="No price is known.", run=a_run(), gpus=1),
            a_cost(charged(NOON)),
        )

        assert await total(store, asked()) == Sums(
            micros=360_000,
            jobs=2,
            unknown=1,
            seconds=3 * 3600,
            cpu_seconds=12 * 3600,
            gpu_seconds=2 * 3600,
        )
        [paid] = await store.paid_runs(runs_in())
        assert (paid.micros, paid.why_unknown) == (0, "No price is known.")

    asyncio.run(story())


def test_a_job_that_took_no_time_is_still_a_job(store: Store) -> None:
    async def story() -> None:
        await committed(store, a_cost(until=NOON + HOUR, run=a_run()))

        assert await total(store, asked()) == Sums(jobs=1)
        assert await store.spent(asked(until=NOON + HOUR)) == []
        [paid] = await store.paid_runs(runs_in())
        assert paid.since == paid.until == NOON + HOUR

    asyncio.run(story())


def test_keys_for_which_nothing_comes_together_are_left_out(store: Store) -> None:
    async def story() -> None:
        await committed(store, a_cost(jobs=0), a_cost(charged(NOON), payer=BOB))

        assert micros(await store.spent(asked(by=(By.PERSON,)))) == {("bob",): 360_000}

    asyncio.run(story())


# --- periods


def test_a_day_in_india_begins_on_the_half_hour_and_counts_from_there(store: Store) -> None:
    async def story() -> None:
        day = named("2026-03-02", ZoneInfo("Asia/Kolkata"))
        assert day.since == datetime(2026, 3, 1, 18, 30, tzinfo=UTC)
        # Twenty minutes before and forty after its beginning, a minute near its end, and after it.
        await committed(
            store,
            a_cost(charged(day.since - timedelta(minutes=20))),
            a_cost(charged(day.until - timedelta(minutes=2), timedelta(minutes=1))),
            a_cost(charged(day.until)),
        )

        found = await total(store, asked(day.since, day.until))
        assert found.seconds == 2400 + 60
        assert found.micros == 240_000 + 6_000
        assert found.jobs == 2

    asyncio.run(story())


@pytest.mark.parametrize(
    ("since", "until"),
    [
        (NOON, NOON + QUARTER),
        (NOON - 4 * HOUR, NOON + HOUR),
        (NOON.replace(hour=0), NOON.replace(hour=0) + DAY),
        (NOON.replace(hour=0), NOON + 3 * DAY),
        (NOON, (NOON + 3 * DAY).replace(hour=0)),
        (NOON, NOON + 33 * DAY),
        (NOON - DAY, NOON - QUARTER),
        (NOON + DAY, NOON),
    ],
)
def test_only_what_falls_into_a_period_is_counted(
    store: Store, since: datetime, until: datetime
) -> None:
    async def story() -> None:
        await committed(store, a_cost(charged(NOON - 7 * DAY, 60 * DAY)))

        found = await total(store, asked(since, until))
        assert timedelta(seconds=found.seconds) == max(until - since, timedelta())

    asyncio.run(story())


@pytest.mark.parametrize("name", ["since", "until"])
def test_a_period_that_is_not_made_of_quarters_is_refused_in_words(store: Store, name: str) -> None:
    async def story() -> None:
        with pytest.raises(Invalid, match="none begins at 2026-03-02 12:07:00 UTC") as refused:
            await store.spent(asked(**{name: NOON + timedelta(minutes=7)}))
        assert refused.value.at == name

    asyncio.run(story())


moments = st.integers(0, 6 * 86_400).map(lambda n: NOON + timedelta(seconds=n))
lengths = st.integers(0, 200_000).map(lambda n: timedelta(seconds=n))
rates = st.none() | st.integers(0, 30_000_000)
costs = st.builds(
    a_cost,
    st.builds(charged, moments, lengths, rates),
    st.builds(charged, moments, lengths, rates),
    payer=st.sampled_from([ANA, BOB, NOBODY]),
    what=st.sampled_from(What),
    why_unknown=st.sampled_from(["", "", "No price is known."]),
)
quarters = st.integers(-200, 1000).map(lambda n: NOON + n * QUARTER)


@given(st.lists(costs, max_size=6), st.sets(quarters, min_size=2, max_size=6))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_however_a_period_is_cut_its_parts_come_to_the_whole(
    tmp_path_factory: pytest.TempPathFactory, entries: list[Entry], cuts: set[datetime]
) -> None:
    async def story() -> None:
        kept, memory = SqliteStore(tmp_path_factory.mktemp("books") / "clusterra.db"), MemoryStore()
        for store in (kept, memory):
            await committed(store, *entries)
        ends = sorted(cuts)
        whole = asked(ends[0], ends[-1], by=(By.PERSON, By.WHAT))
        parts = [replace(whole, since=one, until=two) for one, two in pairwise(ends)]

        assert await kept.spent(whole) == await memory.spent(whole)
        for by in ((), (By.PERSON,)):
            summed: dict[tuple[str, ...], Sums] = {}
            for part in parts:
                for each in await kept.spent(replace(part, by=by)):
                    summed[each.key] = summed.get(each.key, Sums()) + each.sums
            found = await kept.spent(replace(whole, by=by))
            assert {each.key: each.sums for each in found} == summed

        everything = asked(NOON - 30 * DAY, NOON + 30 * DAY)
        known = [each for each in entries if not each.why_unknown]
        assert (await total(kept, everything)).micros == sum(accrued(e.charges) for e in known)
        kept.close()

    asyncio.run(story())


# --- runs


def test_runs_come_the_dearest_first_and_of_equals_the_one_that_ended_last(store: Store) -> None:
    async def story() -> None:
        await committed(
            store,
            a_cost(charged(NOON, rate=10), run=a_run(1)),
            a_cost(charged(NOON, rate=30), run=a_run(2), payer=BOB),
            a_cost(charged(NOON + QUARTER, rate=10), run=a_run(3)),
            a_cost(charged(NOON, rate=99), payer=NOBODY, what=What.IDLE, jobs=0),
        )
        await committed(store, a_cost(charged(NOON, rate=20), run=a_run(4)), cluster=OTHER)

        async def ids(**more: Any) -> list[int]:
            return [paid.run.job_id for paid in await store.paid_runs(runs_in(**more))]

        assert await ids() == [2, 3, 1]
        assert await ids(limit=2) == [2, 3]
        assert await ids(clusters=(LAB, OTHER)) == [2, 4, 3, 1]
        assert await ids(clusters=(LAB, OTHER), limit=2) == [2, 4]
        assert await ids(person="ana@lab.org") == [3, 1]
        assert await ids(person="ana@lab.org", clusters=(LAB, OTHER)) == [4, 3, 1]
        assert await ids(person="") == []

    asyncio.run(story())


def test_runs_of_which_the_cost_is_not_known_can_be_asked_for(store: Store) -> None:
    async def story() -> None:
        lost = "No price is known."
        await committed(
            store,
            a_cost(charged(NOON), run=a_run(1)),
            a_cost(charged(NOON), run=a_run(2), why_unknown=lost),
            a_cost(charged(NOON + HOUR), run=a_run(3), payer=BOB, why_unknown=lost),
        )

        async def ids(**more: Any) -> list[int]:
            found = await store.paid_runs(runs_in(unknown=True, **more))
            return [paid.run.job_id for paid in found]

        assert await ids() == [3, 2]
        assert await ids(limit=1) == [3]
        assert await ids(person="bob") == [3]
        assert await ids(until=NOON + HOUR) == [2]
        assert len(await store.paid_runs(runs_in())) == 3

    asyncio.run(story())


def test_a_run_is_found_in_every_period_it_touches_and_whole_in_each(store: Store) -> None:
    async def story() -> None:
        charges = charged(NOON, rate=10), charged(NOON + HOUR, HOUR, 20)
        whole = PaidRun(
            cluster=LAB,
            run=a_run(),
            payer=ANA,
            since=NOON,
            until=NOON + 2 * HOUR,
            micros=30,
            charges=charges,
        )
        await committed(store, a_cost(*charges, run=a_run()))

        second = timedelta(seconds=1)
        assert await store.paid_runs(runs_in(NOON - HOUR, NOON)) == []
        assert await store.paid_runs(runs_in(NOON - HOUR, NOON + second)) == [whole]
        assert await store.paid_runs(runs_in(NOON + HOUR, NOON + HOUR + second)) == [whole]
        assert await store.paid_runs(runs_in(whole.until - second, NOON + DAY)) == [whole]
        assert await store.paid_runs(runs_in(whole.until, NOON + DAY)) == []

    asyncio.run(story())


def test_a_run_of_no_length_is_found_at_its_moment_and_nowhere_else(store: Store) -> None:
    async def story() -> None:
        await committed(store, a_cost(until=NOON, run=a_run()))

        assert len(await store.paid_runs(runs_in(NOON, NOON + QUARTER))) == 1
        assert await store.paid_runs(runs_in(NOON - QUARTER, NOON)) == []
        assert await store.paid_runs(runs_in(NOON + QUARTER, NOON + HOUR)) == []

    asyncio.run(story())


@pytest.mark.parametrize("together", [True, False])
def test_a_run_that_is_billed_in_parts_is_one_and_its_restart_another(
    store: Store, together: bool
) -> None:
    async def story() -> None:
        parts = [
            a_cost(charged(NOON, rate=10), run=a_run(), jobs=0),
            a_cost(charged(NOON + HOUR, rate=20), run=a_run(), jobs=0),
            a_cost(charged(NOON + 2 * HOUR, rate=40), run=a_run(restarts=1)),
        ]
        for batch in [parts] if together else [[part] for part in parts]:
            await committed(store, *batch)

        last, first = await store.paid_runs(runs_in())
        assert (last.run.restarts, last.micros, last.since) == (1, 40, NOON + 2 * HOUR)
        assert (first.run.restarts, first.micros) == (0, 30)
        assert (first.since, first.until) == (NOON, NOON + 2 * HOUR)
        assert first.charges == (charged(NOON, rate=10), charged(NOON + HOUR, rate=20))
        assert (await total(store, asked())).jobs == 1

    asyncio.run(story())

"""Promises every Store keeps. A new adapter joins by one case in `conftest.store`."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clusterra.core.change import Change, Kind, Record
from clusterra.core.errors import Conflict
from clusterra.core.events.chain import Head
from clusterra.core.events.event import EventQuery
from clusterra.core.jobs.job import Job, JobState
from clusterra.core.jobs.language import parse
from clusterra.core.jobs.query import FIELDS, Op, Query, Sense, Sort, Term, matches
from clusterra.ports import Store
from tests.builders import NOON, a_job
from tests.ledger import a_draft

COUNTER: Kind[int] = Kind("counter", int)
LAB = "cluslab1"


def test_a_stale_writer_changes_nothing_not_even_the_ledger(store: Store) -> None:
    async def story() -> None:
        seen = await store.get(COUNTER, "a", default=0)
        await store.commit(LAB, Change(puts=[replace(seen, value=1)]))

        with pytest.raises(Conflict):
            await store.commit(
                LAB, Change(puts=[replace(seen, value=2)], jobs=[a_job()], events=[a_draft()])
            )

        assert (await store.get(COUNTER, "a", default=0)).value == 1
        assert await store.job(LAB, 1) is None
        assert list(await store.events(LAB, EventQuery())) == []
        assert await store.head(LAB) == Head()

    asyncio.run(story())


def test_one_stale_record_holds_back_all_the_others(store: Store) -> None:
    async def story() -> None:
        a = await store.get(COUNTER, "a", default=0)
        b = await store.get(COUNTER, "b", default=0)
        await store.commit(LAB, Change(puts=[b]))

        with pytest.raises(Conflict):
            await store.commit(LAB, Change(puts=[replace(a, value=1), replace(b, value=1)]))

        assert (await store.get(COUNTER, "a", default=0)).version == 0

    asyncio.run(story())


def test_a_conflict_leaves_the_changes_beside_it_alone(store: Store) -> None:
    async def story() -> None:
        stale = await store.get(COUNTER, "a", default=0)
        await store.commit(LAB, Change(puts=[replace(stale, value=1)]))

        outcomes = await asyncio.gather(
            store.commit(LAB, Change(events=[a_draft(1)])),
            store.commit(LAB, Change(puts=[replace(stale, value=9)], events=[a_draft(2)])),
            store.commit(LAB, Change(events=[a_draft(3)])),
            return_exceptions=True,
        )

        assert [isinstance(each, Conflict) for each in outcomes] == [False, True, False]
        assert [event.seq for event in await store.events(LAB, EventQuery())] == [1, 2]

    asyncio.run(story())


def test_a_record_is_forgotten_at_the_version_it_was_read_at_and_at_no_other(store: Store) -> None:
    async def story() -> None:
        new = await store.get(COUNTER, "a", default=0)
        await store.commit(LAB, Change(puts=[replace(new, value=1)]))
        read = await store.get(COUNTER, "a", default=0)
        await store.commit(LAB, Change(puts=[replace(read, value=2)]))

        for stale in (new, read):
            with pytest.raises(Conflict):
                await store.commit(LAB, Change(drops=[stale], events=[a_draft()]))
        assert (await store.get(COUNTER, "a", default=0)).value == 2
        assert (await store.head(LAB)).size == 0

        await store.commit(LAB, Change(drops=[await store.get(COUNTER, "a", default=0)]))
        assert (await store.get(COUNTER, "a", default=0)).version == 0
        await store.commit(LAB, Change(drops=[await store.get(COUNTER, "a", default=0)]))

    asyncio.run(story())


def test_records_of_a_kind_are_listed_by_id_and_by_how_it_begins(store: Store) -> None:
    other: Kind[int] = Kind("other", int)

    async def story() -> None:
        ids = ["a", "a/1", "a/1/x", "a/10", "a/2", "a0", "b", "ä", "a/\U0001f9ea"]
        puts = [Record(kind=COUNTER, id=id, value=n) for n, id in enumerate(ids)]
        await store.commit(LAB, Change(puts=[*puts, Record(kind=other, id="a/1", value=99)]))

        async def found(prefix: str) -> list[str]:
            return [record.id for record in await store.list(COUNTER, prefix)]

        assert await found("") == sorted(ids)
        assert await found("a/") == ["a/1", "a/1/x", "a/10", "a/2", "a/\U0001f9ea"]
        assert await found("c") == []
        [record] = await store.list(COUNTER, "b")
        assert record == await store.get(COUNTER, "b", default=0)

    asyncio.run(story())


def test_of_two_writers_with_one_version_exactly_one_wins(store: Store) -> None:
    async def story() -> None:
        seen = await store.get(COUNTER, "a", default=0)
        outcomes = await asyncio.gather(
            *(store.commit(LAB, Change(puts=[replace(seen, value=n)])) for n in range(20)),
            return_exceptions=True,
        )

        assert sum(isinstance(each, Conflict) for each in outcomes) == 19

    asyncio.run(story())


def test_a_job_is_replaced_by_its_later_self_and_kept_apart_from_its_namesake(store: Store) -> None:
    async def story() -> None:
        first = a_job(7, name="first")
        await store.commit(LAB, Change(jobs=[first]))
        await store.commit(LAB, Change(jobs=[replace(first, state=JobState.COMPLETED)]))
        await store.commit(
            LAB, Change(jobs=[a_job(7, name="second", born_at=NOON + timedelta(days=9))])
        )

        page = await store.jobs(LAB, Query(sort=Sort.NAME, descending=False))
        assert [(job.name, job.state) for job in page.jobs] == [
            ("first", JobState.COMPLETED),
            ("second", JobState.PENDING),
        ]
        newest = await store.job(LAB, 7)
        assert newest is not None
        assert newest.name == "second"
        assert await store.job("clusother", 7) is None
        assert await store.tally(LAB) == {"COMPLETED": 1, "PENDING": 1}
        assert await store.live_ids(LAB) == [7]

    asyncio.run(story())


def test_jobs_are_found_by_many_ids_at_once_the_newest_of_each(store: Store) -> None:
    async def story() -> None:
        later = a_job(7, name="later", born_at=NOON + timedelta(days=9))
        await store.commit(LAB, Change(jobs=[later, a_job(7), a_job(8), a_job(9)]))

        assert await store.jobs_by_id(LAB, {7, 9, 10}) == {7: later, 9: a_job(9)}
        assert await store.jobs_by_id(LAB, []) == {}
        assert await store.jobs_by_id("clusother", [7]) == {}

    asyncio.run(story())


def test_a_submission_finds_the_job_it_became(store: Store) -> None:
    async def story() -> None:
        await store.commit(LAB, Change(jobs=[a_job(1), a_job(2, run_id="r-1")]))

        found = await store.run(LAB, "r-1")
        assert found is not None
        assert found.id == 2
        assert await store.run(LAB, "") is None
        assert await store.run(LAB, "r-2") is None

    asyncio.run(story())


@pytest.mark.parametrize("sort", list(Sort))
@pytest.mark.parametrize("descending", [True, False])
def test_pages_show_every_job_once_in_order_even_while_jobs_are_added(
    store: Store, sort: Sort, descending: bool
) -> None:
    async def story() -> None:
        jobs = [
            a_job(
                n,
                name=f"n{n % 3}",
                cpus=n % 4,
                submitted_at=NOON + timedelta(seconds=n % 5),
                started_at=None if n % 2 else NOON + timedelta(minutes=n),
            )
            for n in range(1, 24)
        ]
        await store.commit(LAB, Change(jobs=jobs))
        query, seen = Query(sort=sort, descending=descending, limit=5), []
        while True:
            page = await store.jobs(LAB, query)
            seen += [job.id for job in page.jobs]
            if page.next is None:
                break
            query = replace(query, after=page.next)

        whole = await store.jobs(LAB, Query(sort=sort, descending=descending, limit=1000))
        assert seen == [job.id for job in whole.jobs]
        assert sorted(seen) == list(range(1, 24))

    asyncio.run(story())


words = st.sampled_from(["ana", "ben", "Align", "w[1-3]", "Ärger", "a*b", "?", "", "main"])
moments = st.one_of(st.none(), st.integers(0, 5000).map(lambda s: NOON + timedelta(seconds=s)))


@st.composite
def some_jobs(draw: st.DrawFn) -> list[Job]:
    return [
        a_job(
            n,
            state=draw(st.sampled_from(list(JobState))),
            name=draw(words),
            user=draw(words),
            nodes=draw(words),
            cpus=draw(st.integers(0, 5)),
            priority=draw(st.one_of(st.none(), st.integers(0, 3))),
            started_at=draw(moments),
            ended_at=draw(moments),
        )
        for n in range(1, draw(st.integers(1, 8)))
    ]


@st.composite
def some_terms(draw: st.DrawFn) -> Term:
    field = draw(st.sampled_from([*FIELDS, "text"]))
    negated = draw(st.booleans())
    if field == "text":
        return Term(field=field, op=Op.HAS, values=(draw(words).lower(),), negated=negated)
    if FIELDS[field][0] is Sense.TEXT:
        patterns = st.one_of(words, words.map(lambda word: f"{word[:1]}*"))
        values = draw(st.lists(patterns.map(str.lower), min_size=1, max_size=3))
        return Term(field=field, op=Op.IS, values=tuple(values), negated=negated)
    op = draw(st.sampled_from([Op.IS, Op.LT, Op.LE, Op.GT, Op.GE]))
    number = draw(
        st.one_of(st.integers(-1, 6), st.integers(0, 5000).map(int(NOON.timestamp()).__add__))
    )
    return Term(field=field, op=op, values=(number,), negated=negated)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(some_jobs(), st.lists(some_terms(), max_size=3))
def test_what_is_found_is_what_the_query_means(
    store: Store, jobs: list[Job], terms: list[Term]
) -> None:
    async def story() -> None:
        query = Query(terms=tuple(terms), limit=100, now=int(NOON.timestamp()) + 60)
        cluster = f"clus{id(jobs)}"
        old = [job.id for job in (await store.jobs(cluster, Query(limit=100))).jobs]
        await store.commit(cluster, Change(jobs=jobs))

        found = {job.id for job in (await store.jobs(cluster, query)).jobs if job in jobs}

        assert found == {job.id for job in jobs if matches(job, query)}
        assert old or await store.count(cluster, query) == len(found)

    asyncio.run(story())


def test_a_count_knows_every_job_that_was_written_before_it(store: Store) -> None:
    async def story() -> None:
        waiting = parse("state:pending", now=NOON)
        for n in range(1, 6):
            await store.commit(LAB, Change(jobs=[a_job(n)]))
            await store.commit("clusother", Change(jobs=[a_job(n + 10), a_job(n + 20)]))

            counted = [await store.count(LAB, waiting) for _ in range(2)]

            assert counted == [n, n]
            assert await store.count("clusother", waiting) == 2 * n
            assert await store.count(LAB, Query()) == n

        await store.commit(LAB, Change(jobs=[a_job(3, state=JobState.RUNNING)]))
        assert await store.count(LAB, waiting) == 4

    asyncio.run(story())


def test_a_count_by_time_goes_with_the_time(store: Store) -> None:
    async def story() -> None:
        await store.commit(LAB, Change(jobs=[a_job(1, submitted_at=NOON)]))
        for minutes, found in ((59, 0), (61, 1)):
            now = NOON + timedelta(minutes=minutes)
            assert await store.count(LAB, parse("waited>1h", now=now)) == found

    asyncio.run(story())


def test_the_readme_query_finds_what_it_says(store: Store) -> None:
    async def story() -> None:
        failed = a_job(1, state=JobState.FAILED, cpus=8, ended_at=NOON - timedelta(days=1))
        await store.commit(
            LAB,
            Change(
                jobs=[
                    failed,
                    replace(failed, id=2, cpus=2),
                    replace(failed, id=3, user="ben"),
                    replace(failed, id=4, ended_at=NOON - timedelta(days=3)),
                    replace(failed, id=5, state=JobState.COMPLETED),
                ]
            ),
        )
        query = parse("user:ana state:failed cpus>=4 ended<2d", now=NOON)

        assert [job.id for job in (await store.jobs(LAB, query)).jobs] == [1]

    asyncio.run(story())

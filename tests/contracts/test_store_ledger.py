"""Promises every Store keeps about its ledger."""

import asyncio
from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clusterra.core.change import Change, Kind, Record
from clusterra.core.errors import Conflict, Refused
from clusterra.core.events.catalogue.clusters import ClusterConnected, ClusterStarted
from clusterra.core.events.catalogue.fleet import FleetResized
from clusterra.core.events.catalogue.jobs import JobCompleted, JobStarted
from clusterra.core.events.chain import START, Growing, Head
from clusterra.core.events.event import Draft, Event, EventQuery
from clusterra.core.events.fact import Fact
from clusterra.core.events.filter import matches
from clusterra.ports import Store
from tests.builders import NOON, a_job
from tests.ledger import a_draft

LAB = "cluslab1"
COUNTER: Kind[int] = Kind("counter", int)
ALL = EventQuery(limit=10_000)


async def numbers(store: Store, query: EventQuery = ALL, cluster: str = LAB) -> list[int]:
    return [event.seq for event in await store.events(cluster, query)]


def test_sequence_numbers_start_at_one_and_have_no_gaps_in_each_cluster(store: Store) -> None:
    async def story() -> None:
        for n in range(3):
            await store.commit(LAB, Change(events=[a_draft(2 * n), a_draft(2 * n + 1)]))
            await store.commit("clusother", Change(events=[a_draft(n)]))

        assert await numbers(store) == [1, 2, 3, 4, 5, 6]
        assert await numbers(store, cluster="clusother") == [1, 2, 3]
        assert await numbers(store, EventQuery(after=4, limit=1)) == [5]
        assert await store.oldest(LAB) == 1

    asyncio.run(story())


def test_concurrent_writers_never_share_a_sequence_number(store: Store) -> None:
    async def story() -> None:
        heads = await asyncio.gather(
            *(store.commit(LAB, Change(events=[a_draft(n)])) for n in range(50))
        )

        assert sorted(heads) == list(range(1, 51))
        assert await numbers(store) == list(range(1, 51))

    asyncio.run(story())


def test_an_event_is_taken_once_however_often_it_is_told(store: Store) -> None:
    async def story() -> None:
        one, two, three = a_draft(1), a_draft(2), a_draft(3)
        assert await store.commit(LAB, Change(events=[one, two, one, replace(two, at=NOON)])) == 2
        assert await store.commit(LAB, Change(events=[two, three, one])) == 3
        assert await store.commit(LAB, Change(events=[three])) == 3

        assert [event.id for event in await store.events(LAB, ALL)] == [one.id, two.id, three.id]
        assert (await store.head(LAB)).size == 3
        assert await store.commit("clusother", Change(events=[one])) == 1

    asyncio.run(story())


def test_what_comes_with_an_event_that_is_known_is_still_written(store: Store) -> None:
    async def story() -> None:
        await store.commit(LAB, Change(events=[a_draft()]))
        put = Record(kind=COUNTER, id="a", value=7)
        await store.commit(LAB, Change(puts=[put], jobs=[a_job()], events=[a_draft()]))

        assert (await store.get(COUNTER, "a", default=0)).value == 7
        assert await store.job(LAB, 1) == a_job()

    asyncio.run(story())


def test_a_thousand_tellings_of_one_event_at_once_make_one(store: Store) -> None:
    async def story() -> None:
        heads = await asyncio.gather(
            *(store.commit(LAB, Change(events=[a_draft()])) for _ in range(1000))
        )

        assert set(heads) == {1}
        assert await numbers(store) == [1]

    asyncio.run(story())


def test_the_head_is_what_the_bytes_of_the_events_hash_to(store: Store) -> None:
    async def story() -> None:
        for n in range(0, 23, 3):
            await store.commit(LAB, Change(events=[a_draft(n), a_draft(n + 1), a_draft(n + 2)]))

        growing = Growing(Head(chain=START))
        events = await store.events(LAB, ALL)
        assert [growing.add(event.body) for event in events] == [event.chain for event in events]
        assert await store.head(LAB) == growing.head()

    asyncio.run(story())


def test_what_stands_beside_an_event_is_what_its_bytes_say(store: Store) -> None:
    async def story() -> None:
        at = NOON + timedelta(microseconds=1)
        await store.commit(LAB, Change(events=[a_draft(5), a_draft(7, at=at)]))

        [event] = await store.events(LAB, EventQuery(after=1))
        told = msgspec.json.decode(event.body)
        assert (told["id"], told["type"], told["subject"]) == (event.id, event.type, event.subject)
        assert f"{told['authtype']}:{told['authid']}" == event.actor == "system:slurm"
        assert datetime.fromisoformat(told["time"]) == event.at == at
        assert (int(told["sequence"]), told["source"]) == (2, f"/clusters/{LAB}")
        assert told["data"]["job_id"] == 7

    asyncio.run(story())


def test_an_event_that_cannot_be_spelled_is_refused_alone(store: Store) -> None:
    async def story() -> None:
        broken = replace(a_draft(2), subject="job/\udcff")
        outcomes = await asyncio.gather(
            store.commit(LAB, Change(events=[a_draft(1)])),
            store.commit(LAB, Change(jobs=[a_job()], events=[a_draft(9), broken])),
            store.commit(LAB, Change(events=[a_draft(3)])),
            return_exceptions=True,
        )

        assert [isinstance(each, Exception) for each in outcomes] == [False, True, False]
        assert [event.subject for event in await store.events(LAB, ALL)] == ["job/1", "job/3"]
        assert await store.job(LAB, 1) is None
        assert await store.commit(LAB, Change(events=[a_draft(9)])) == 3

    asyncio.run(story())


def test_who_watches_is_told_after_the_commit_and_only_when_the_ledger_grew(store: Store) -> None:
    told: Counter[tuple[str, int]] = Counter()

    async def story() -> None:
        heard = asyncio.Event()

        def tell(cluster: str, head: int) -> None:
            assert asyncio.get_running_loop() is loop
            told[cluster, head] += 1
            heard.set()

        loop = asyncio.get_running_loop()
        store.watch(tell)
        await store.commit(LAB, Change(events=[a_draft(1), a_draft(2)]))
        await asyncio.wait_for(heard.wait(), 10)
        assert told == {(LAB, 2): 1}

        await store.commit(LAB, Change(events=[a_draft(1)], jobs=[a_job()]))
        heard.clear()
        await store.commit("clusother", Change(events=[a_draft(1)]))
        await asyncio.wait_for(heard.wait(), 10)
        assert told == {(LAB, 2): 1, ("clusother", 1): 1}

    asyncio.run(story())


def test_whoever_is_told_of_a_number_can_read_it(store: Store) -> None:
    async def story() -> None:
        seen: asyncio.Queue[int] = asyncio.Queue()
        store.watch(lambda _, head: seen.put_nowait(head))
        commits = [
            asyncio.ensure_future(store.commit(LAB, Change(events=[a_draft(n)]))) for n in range(20)
        ]
        head = 0
        while head < 20:
            head = await asyncio.wait_for(seen.get(), 10)
            assert await numbers(store, EventQuery(after=head - 1, limit=1)) == [head]
        await asyncio.gather(*commits)

    asyncio.run(story())


kinds: list[Fact] = [
    JobStarted(job_id=1),
    JobCompleted(job_id=1),
    ClusterConnected(slurm_version="25.05", api_version="v0.0.43"),
    ClusterStarted(),
    FleetResized(shape="s", before=0, after=1, reason="r"),
]
subjects = ["job/4", "job/43", "job/431", "cluster", "node/w[1]"]
actors = ["system:slurm", "user:ana", "user:ana@lab.org"]
moments = st.integers(0, 9).map(lambda n: NOON + timedelta(microseconds=n))


@st.composite
def some_drafts(draw: st.DrawFn) -> list[Draft]:
    return [
        Draft(
            id=f"e{n}",
            fact=draw(st.sampled_from(kinds)),
            at=draw(moments),
            actor=draw(st.sampled_from(actors)),
            subject=draw(st.sampled_from(subjects)),
        )
        for n in range(draw(st.integers(1, 9)))
    ]


globs = ["job.*", "job.started", "*", "*.started", "cluster.*", "c*r.state.*", "job.?tarted", "["]
some_queries = st.builds(
    EventQuery,
    after=st.integers(0, 4),
    types=st.lists(st.sampled_from(globs), max_size=2).map(tuple),
    subject=st.sampled_from(["", *subjects, "job"]),
    actor=st.sampled_from(["", *actors, "user:"]),
    since=st.one_of(st.none(), moments),
    until=st.one_of(st.none(), moments),
    limit=st.integers(1, 9),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(some_drafts(), some_queries)
def test_what_is_found_is_what_the_query_means(
    store: Store, drafts: list[Draft], query: EventQuery
) -> None:
    async def story() -> None:
        cluster = f"clus{id(drafts)}-{id(query)}-{(await store.head('count')).size}"
        await store.commit("count", Change(events=[replace(drafts[0], id=cluster)]))
        await store.commit(cluster, Change(events=drafts))

        everything: list[Event] = list(await store.events(cluster, ALL))
        assert [event.id for event in everything] == [draft.id for draft in drafts]
        meant = [event for event in everything if matches(event, query)]
        assert list(await store.events(cluster, query)) == meant[: query.limit]

    asyncio.run(story())


@pytest.mark.parametrize(
    ("glob", "type", "is_one"),
    [
        ("job.*", "job.started", True),
        ("job.*", "jobs.started", False),
        ("job.started", "job.started", True),
        ("job.started", "job.startedx", False),
        ("*.started", "cluster.state.started", True),
    ],
)
def test_a_glob_means_what_it_looks_like(glob: str, type: str, is_one: bool) -> None:
    event = Event(
        cluster=LAB, seq=1, id="e", type=type, subject="s", actor="a", at=NOON, body=b"", chain=b""
    )
    assert matches(event, EventQuery(types=(glob,))) is is_one


async def head_at(store: Store, size: int) -> Head:
    growing = Growing(await store.cut(LAB))
    for event in await store.events(LAB, EventQuery(limit=size - growing.size)):
        growing.add(event.body)
    return growing.head()


def test_what_is_sealed_is_gone_from_here_and_does_not_come_again(store: Store) -> None:
    async def story() -> None:
        drafts = [a_draft(n) for n in range(1, 11)]
        await store.commit(LAB, Change(events=drafts))
        head = await store.head(LAB)
        cut = await head_at(store, 6)

        await store.seal(LAB, cut, Change(puts=[Record(kind=COUNTER, id="a", value=6)]))

        assert (await store.oldest(LAB), await store.cut(LAB)) == (7, cut)
        assert await numbers(store) == [7, 8, 9, 10]
        assert await store.head(LAB) == head
        assert (await store.get(COUNTER, "a", default=0)).value == 6
        assert await store.commit(LAB, Change(events=[*drafts, a_draft(11)])) == 11
        assert await numbers(store) == [7, 8, 9, 10, 11]

        await store.seal(LAB, await head_at(store, 11), Change())
        assert await numbers(store) == []
        assert await store.commit(LAB, Change(events=[drafts[0], a_draft(12)])) == 12
        growing = Growing(await store.cut(LAB))
        [last] = await store.events(LAB, ALL)
        assert growing.add(last.body) == last.chain

    asyncio.run(story())


def test_a_ledger_is_not_sealed_twice_nor_where_it_hashes_to_something_else(store: Store) -> None:
    async def story() -> None:
        await store.commit(LAB, Change(events=[a_draft(n) for n in range(1, 6)]))
        put = Change(puts=[Record(kind=COUNTER, id="a", value=1)])
        cut = await head_at(store, 3)
        for wrong in (replace(cut, chain=bytes(32)), replace(cut, size=9), replace(cut, size=0)):
            with pytest.raises(Conflict):
                await store.seal(LAB, wrong, put)
        await store.seal(LAB, cut, Change())
        with pytest.raises(Conflict):
            await store.seal(LAB, cut, put)

        assert await numbers(store) == [4, 5]
        assert (await store.get(COUNTER, "a", default=0)).version == 0

    asyncio.run(story())


def test_a_ledger_that_is_held_takes_nothing_and_can_still_be_read(store: Store) -> None:
    async def story() -> None:
        await store.commit(LAB, Change(events=[a_draft(1)]))
        cut = await head_at(store, 1)
        store.hold(LAB, Refused("It is behind.", code="behind"))

        with pytest.raises(Refused, match="behind"):
            await store.commit(LAB, Change(events=[a_draft(2)], jobs=[a_job()]))
        with pytest.raises(Refused, match="behind"):
            await store.seal(LAB, cut, Change())
        assert await numbers(store) == [1]
        assert await store.job(LAB, 1) is None
        assert await store.commit(LAB, Change(jobs=[a_job()])) == 1
        assert await store.commit("clusother", Change(events=[a_draft(2)])) == 1

    asyncio.run(story())

"""Promises every Store keeps about deliveries: one owner, one version, one order."""

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterra.adapters.memory import MemoryStore
from clusterra.adapters.sqlite import deliveries as in_sqlite
from clusterra.adapters.sqlite.store import SqliteStore
from clusterra.core.change import Change, Kind, Record
from clusterra.core.errors import Conflict
from clusterra.core.events.event import EventQuery
from clusterra.core.webhooks.delivery import (
    Delivery,
    DeliveryOrder,
    DeliveryQuery,
    DeliveryState,
    Timings,
    place_of,
    replayed,
)
from clusterra.ports import Store
from tests.builders import NOON, a_job
from tests.deliveries import OURS, a_delivery, an_attempt
from tests.ledger import LAB, a_draft

THEIRS = "whk_theirs"
SECOND = timedelta(seconds=1)
HOUR = timedelta(hours=1)
COUNTER: Kind[int] = Kind("counter", int)
PENDING, RETRY, OK, DEAD, KEPT = DeliveryState


async def put(store: Store, *deliveries: Delivery) -> None:
    await store.commit(LAB, Change(deliveries=deliveries))


async def seqs(store: Store, **query: Any) -> list[int]:
    found = await store.deliveries(DeliveryQuery(**({"endpoint": OURS} | query)))
    return [each.seq for each in found]


# --- versions


def test_a_delivery_comes_back_as_it_was_written_one_version_on(store: Store) -> None:
    async def story() -> None:
        made = a_delivery(
            at=NOON - timedelta(microseconds=1),
            made_at=NOON + timedelta(microseconds=999_999),
            due=NOON,
        )
        await put(store, made)
        assert await store.delivery(OURS, "event-1") == replace(made, version=1)
        assert await store.delivery(THEIRS, "event-1") is None
        assert await store.delivery(OURS, "event-2") is None

        ended = replace(
            made,
            state=DEAD,
            due=None,
            attempts=11,
            replays=2,
            ended_at=NOON + HOUR,
            status=503,
            why="It answered 503.",
            took_ms=12,
            version=1,
        )
        await put(store, ended)
        assert await store.delivery(OURS, "event-1") == replace(ended, version=2)

        again = replayed(replace(ended, version=2), NOON + 2 * HOUR)
        await put(store, again)
        assert await store.delivery(OURS, "event-1") == replace(again, version=3)

    asyncio.run(story())


@pytest.mark.parametrize(
    "stale",
    [
        Change(deliveries=[a_delivery(2), a_delivery(1)]),
        Change(deliveries=[a_delivery(2), a_delivery(2)]),
        Change(deliveries=[a_delivery(2), a_delivery(1, version=2)]),
        Change(deliveries=[a_delivery(2), a_delivery(1, version=1), a_delivery(1, version=1)]),
        Change(deliveries=[a_delivery(2), a_delivery(3, version=1)]),
        Change(deliveries=[a_delivery(2)], attempts=[an_attempt(1)]),
        Change(deliveries=[a_delivery(2)], attempts=[an_attempt(2), an_attempt(2)]),
        Change(deliveries=[a_delivery(2)], unmoved=[Record(kind=COUNTER, id="a", value=0)]),
        Change(deliveries=[a_delivery(2)], puts=[Record(kind=COUNTER, id="a", value=9, version=7)]),
    ],
)
def test_a_change_of_which_something_moved_on_changes_nothing(store: Store, stale: Change) -> None:
    async def story() -> None:
        first = Record(kind=COUNTER, id="a", value=1)
        await store.commit(
            LAB, Change(deliveries=[a_delivery()], attempts=[an_attempt()], puts=[first])
        )
        with pytest.raises(Conflict):
            await store.commit(
                LAB,
                replace(
                    stale,
                    puts=[*stale.puts, Record(kind=COUNTER, id="b", value=1)],
                    attempts=[*stale.attempts, an_attempt(7)],
                    events=[a_draft()],
                    jobs=[a_job()],
                ),
            )

        assert await store.delivery(OURS, "event-1") == a_delivery(version=1)
        assert await store.delivery(OURS, "event-2") is None
        assert await store.attempts(OURS, "event-1") == [an_attempt()]
        assert await store.attempts(OURS, "event-7") == []
        assert (await store.get(COUNTER, "a", default=0)).value == 1
        assert (await store.get(COUNTER, "b", default=0)).version == 0
        assert await store.events(LAB, EventQuery()) == []
        assert await store.job(LAB, 1) is None

    asyncio.run(story())


def test_one_event_is_delivered_to_many_endpoints_and_once_to_each(store: Store) -> None:
    async def story() -> None:
        await put(store, a_delivery(), a_delivery(endpoint=THEIRS))
        assert await seqs(store) == await seqs(store, endpoint=THEIRS) == [1]
        with pytest.raises(Conflict):
            await put(store, a_delivery(endpoint=THEIRS))

    asyncio.run(story())


def test_of_two_who_write_from_one_version_exactly_one_wins(store: Store) -> None:
    async def story() -> None:
        await put(store, a_delivery(due=NOON))
        read = await store.delivery(OURS, "event-1")
        assert read is not None

        async def told(number: int) -> None:
            done = replace(read, state=OK, due=None, why=f"by {number}")
            await store.commit(
                LAB,
                Change(
                    deliveries=[done],
                    attempts=[an_attempt(number=number)],
                    events=[a_draft(number)],
                ),
            )

        outcomes = await asyncio.gather(*map(told, range(20)), return_exceptions=True)
        assert sum(isinstance(each, Conflict) for each in outcomes) == 19

        winner = outcomes.index(None)
        now = await store.delivery(OURS, "event-1")
        assert now is not None
        assert (now.version, now.why) == (2, f"by {winner}")
        assert [each.number for each in await store.attempts(OURS, "event-1")] == [winner]
        assert [event.id for event in await store.events(LAB, EventQuery())] == [a_draft(winner).id]

    asyncio.run(story())


def test_who_makes_the_same_deliveries_at_the_same_time_makes_them_once(store: Store) -> None:
    async def story() -> None:
        rows = [a_delivery(n) for n in range(50)]
        outcomes = await asyncio.gather(
            *(put(store, *rows) for _ in range(8)), return_exceptions=True
        )

        assert sum(isinstance(each, Conflict) for each in outcomes) == 7
        assert await seqs(store, order=DeliveryOrder.LEDGER) == list(range(50))

    asyncio.run(story())


# --- what must not have moved


def test_a_record_that_must_not_move_stays_as_it_is(store: Store) -> None:
    async def story() -> None:
        await store.commit(LAB, Change(puts=[Record(kind=COUNTER, id="lease", value=5)]))
        lease = await store.get(COUNTER, "lease", default=0)
        for n in range(3):
            await store.commit(LAB, Change(deliveries=[a_delivery(n)], unmoved=[lease]))

        assert await store.get(COUNTER, "lease", default=0) == lease
        assert len(await seqs(store)) == 3

    asyncio.run(story())


def test_whoever_lost_the_lease_writes_nothing_more(store: Store) -> None:
    async def story() -> None:
        await store.commit(LAB, Change(puts=[Record(kind=COUNTER, id="lease", value=1)]))
        asleep = await store.get(COUNTER, "lease", default=0)
        await put(store, a_delivery(due=NOON))
        await store.commit(LAB, Change(puts=[replace(asleep, value=2)]))

        done = a_delivery(state=OK, version=1)
        late = Change(
            deliveries=[done], attempts=[an_attempt()], events=[a_draft()], unmoved=[asleep]
        )
        with pytest.raises(Conflict, match="counter lease was changed by somebody else"):
            await store.commit(LAB, late)
        assert await store.delivery(OURS, "event-1") == a_delivery(due=NOON, version=1)
        assert await store.attempts(OURS, "event-1") == []
        assert (await store.head(LAB)).size == 0

        await store.commit(LAB, replace(late, unmoved=[replace(asleep, version=2)]))
        assert await store.delivery(OURS, "event-1") == replace(done, version=2)

    asyncio.run(story())


def test_a_lease_that_is_gone_or_not_there_yet_counts_as_moved(store: Store) -> None:
    async def story() -> None:
        nothing = Record(kind=COUNTER, id="lease", value=0)
        await store.commit(LAB, Change(deliveries=[a_delivery(1)], unmoved=[nothing]))
        await store.commit(LAB, Change(puts=[nothing]))
        with pytest.raises(Conflict):
            await store.commit(LAB, Change(deliveries=[a_delivery(2)], unmoved=[nothing]))

        lease = await store.get(COUNTER, "lease", default=0)
        await store.commit(LAB, Change(drops=[lease]))
        with pytest.raises(Conflict):
            await store.commit(LAB, Change(deliveries=[a_delivery(2)], unmoved=[lease]))
        assert await seqs(store) == [1]

    asyncio.run(story())


# --- finding them


def test_what_is_due_comes_first_due_first_and_nothing_else_does(store: Store) -> None:
    async def story() -> None:
        await put(
            store,
            a_delivery(1, due=NOON + 2 * HOUR),
            a_delivery(2, due=NOON + HOUR, state=RETRY, attempts=3),
            a_delivery(4, due=NOON),
            a_delivery(3, due=NOON),
            a_delivery(5, state=OK),
            a_delivery(6),
            a_delivery(7, due=NOON - HOUR, endpoint=THEIRS),
        )
        due = {"order": DeliveryOrder.DUE}
        assert await seqs(store, **due) == [3, 4, 2, 1]
        assert await seqs(store, **due, due_by=NOON + HOUR) == [3, 4, 2]
        assert await seqs(store, **due, due_by=NOON + HOUR - timedelta(microseconds=1)) == [3, 4]
        assert await seqs(store, **due, limit=3) == [3, 4, 2]
        assert await seqs(store, **due, tried=False) == [3, 4, 1]
        assert await seqs(store, **due, tried=True) == [2]
        assert await seqs(store, **due, states=(RETRY, OK)) == [2]
        assert await seqs(store, due_by=NOON + HOUR) == [4, 3, 2]

    asyncio.run(story())


def test_what_is_written_is_no_longer_due_where_it_was(store: Store) -> None:
    async def story() -> None:
        await put(store, a_delivery(1, due=NOON), a_delivery(2, due=NOON + SECOND))
        await put(
            store,
            a_delivery(1, due=NOON + HOUR, state=RETRY, attempts=1, version=1),
            a_delivery(2, state=OK, attempts=1, version=1),
        )
        assert await seqs(store, order=DeliveryOrder.DUE, due_by=NOON + SECOND) == []
        assert await seqs(store, order=DeliveryOrder.DUE, tried=False) == []
        assert await seqs(store, order=DeliveryOrder.DUE, tried=True) == [1]
        assert await store.lanes() == {OURS: NOON + HOUR}

    asyncio.run(story())


def test_an_ordered_lane_sees_what_is_open_in_the_order_it_was_made(store: Store) -> None:
    async def story() -> None:
        await put(
            store,
            a_delivery(3, due=NOON),
            a_delivery(1, state=OK),
            a_delivery(2, state=RETRY, attempts=1, due=NOON + HOUR),
            a_delivery(9, made_at=NOON, due=NOON),
            a_delivery(8, made_at=NOON, due=NOON, ledger="clusaaaa"),
            a_delivery(4, state=DEAD),
        )
        lane = {"states": (PENDING, RETRY), "order": DeliveryOrder.LEDGER}
        assert await seqs(store, **lane) == [8, 9, 2, 3]
        assert await seqs(store, **lane, limit=1) == [8]
        assert await seqs(store, **lane, after=place_of(a_delivery(9, made_at=NOON))) == [2, 3]

    asyncio.run(story())


@pytest.mark.parametrize("order", [DeliveryOrder.NEWEST, DeliveryOrder.LEDGER])
def test_pages_show_every_delivery_once_in_order_while_more_are_made(
    store: Store, order: DeliveryOrder
) -> None:
    async def story() -> None:
        # A microsecond apart, where a float would not tell them apart, and some at one moment.
        rows = [
            a_delivery(n, made_at=NOON + timedelta(microseconds=n // 3), state=(OK, DEAD)[n % 2])
            for n in range(40)
        ]
        await put(store, *rows)
        seen: list[int] = []
        query = DeliveryQuery(endpoint=OURS, order=order, limit=7)
        while page := await store.deliveries(query):
            seen += [each.seq for each in page]
            query = replace(query, after=place_of(page[-1]))
            if len(seen) == 7:
                newer = order is DeliveryOrder.NEWEST
                await put(store, a_delivery(99, made_at=NOON + (HOUR if newer else -HOUR)))

        wanted = list(range(40))
        assert seen == (wanted[::-1] if order is DeliveryOrder.NEWEST else wanted)

    asyncio.run(story())


def test_lists_are_narrowed_by_state_type_time_and_whether_it_was_tried(store: Store) -> None:
    async def story() -> None:
        await put(
            store,
            a_delivery(1, state=OK, attempts=1),
            a_delivery(2, state=DEAD, type="job.ended", attempts=2),
            a_delivery(3, state=KEPT, type="node.down"),
            a_delivery(4, type="job.[x]"),
        )
        assert await seqs(store) == [4, 3, 2, 1]
        assert await seqs(store, states=(OK, DEAD)) == [2, 1]
        assert await seqs(store, states=(KEPT, KEPT)) == [3]
        assert await seqs(store, states=(RETRY,)) == []
        assert await seqs(store, types=("job.*",)) == [4, 2, 1]
        assert await seqs(store, types=("*.down", "job.ended")) == [3, 2]
        assert await seqs(store, types=("job.[x]",)) == [4]
        assert await seqs(store, types=("job",)) == []
        assert await seqs(store, since=NOON + 2 * SECOND) == [4, 3, 2]
        assert await seqs(store, until=NOON + 2 * SECOND) == [1]
        assert await seqs(store, since=NOON + 2 * SECOND, until=NOON + 3 * SECOND) == [2]
        assert await seqs(store, tried=False) == [4, 3]
        assert await seqs(store, tried=True, states=(OK, KEPT)) == [1]
        assert await seqs(store, limit=2) == [4, 3]

    asyncio.run(story())


moments = st.integers(0, 4).map(lambda n: NOON + timedelta(microseconds=n))
made = st.builds(
    a_delivery,
    st.integers(1, 12),
    endpoint=st.sampled_from([OURS, OURS, THEIRS]),
    type=st.sampled_from(["job.started", "job.ended", "node.down"]),
    at=moments,
    made_at=moments,
    due=st.none() | moments,
    ended_at=st.none() | moments,
    state=st.sampled_from(DeliveryState),
    attempts=st.integers(0, 2),
)
queries = st.builds(
    DeliveryQuery,
    endpoint=st.just(OURS),
    states=st.lists(st.sampled_from(DeliveryState), max_size=3).map(tuple),
    types=st.lists(st.sampled_from(["job.*", "node.down", "*e*"]), max_size=2).map(tuple),
    due_by=st.none() | moments,
    tried=st.none() | st.booleans(),
    since=st.none() | moments,
    until=st.none() | moments,
    order=st.sampled_from(DeliveryOrder),
    after=st.none() | made.map(place_of),
    limit=st.integers(1, 6),
)


@given(
    st.lists(made, max_size=20, unique_by=lambda each: (each.endpoint, each.event_id)),
    st.lists(queries, min_size=1, max_size=8),
    moments,
)
@settings(max_examples=60)
def test_every_store_finds_counts_and_forgets_the_same(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[Delivery],
    asked: list[DeliveryQuery],
    when: datetime,
) -> None:
    async def story() -> None:
        kept = SqliteStore(tmp_path_factory.mktemp("deliveries") / "clusterra.db")
        memory = MemoryStore()
        for store in (kept, memory):
            await put(store, *rows)
        for query in asked:
            assert await kept.deliveries(query) == await memory.deliveries(query)
        for since in (None, when):
            tally = await kept.delivery_tally(OURS, since)
            assert tally == await memory.delivery_tally(OURS, since)
        assert await kept.lanes() == await memory.lanes()

        gone = {await each.forget_deliveries("", ended_before=when) for each in (kept, memory)}
        assert len(gone) == 1
        everything = DeliveryQuery(endpoint=OURS)
        assert await kept.deliveries(everything) == await memory.deliveries(everything)
        kept.close()

    asyncio.run(story())


# --- lanes and numbers


def test_a_lane_is_there_while_something_is_due_for_it(store: Store) -> None:
    async def story() -> None:
        assert await store.lanes() == {}
        await put(
            store,
            a_delivery(1, due=NOON + HOUR),
            a_delivery(2, due=NOON + SECOND, state=RETRY, attempts=1),
            a_delivery(3, state=OK),
            a_delivery(4, endpoint=THEIRS, due=NOON - HOUR),
            a_delivery(5, endpoint=THEIRS, due=NOON, state=RETRY, attempts=1),
            a_delivery(6, endpoint="whk_kept", state=KEPT),
        )
        assert await store.lanes() == {OURS: NOON + SECOND, THEIRS: NOON - HOUR}

        await put(store, a_delivery(2, state=OK, version=1))
        assert await store.lanes() == {OURS: NOON + HOUR, THEIRS: NOON - HOUR}
        await put(store, a_delivery(1, state=DEAD, version=1))
        assert await store.lanes() == {THEIRS: NOON - HOUR}

    asyncio.run(story())


def test_deliveries_are_counted_by_every_state_and_since_a_moment(store: Store) -> None:
    async def story() -> None:
        nothing = dict.fromkeys(DeliveryState, 0)
        assert await store.delivery_tally(OURS) == nothing
        await put(
            store,
            *(a_delivery(n, state=OK) for n in range(5)),
            a_delivery(5, state=DEAD),
            a_delivery(6),
            a_delivery(7, endpoint=THEIRS),
        )
        assert await store.delivery_tally(OURS) == nothing | {OK: 5, DEAD: 1, PENDING: 1}
        since = await store.delivery_tally(OURS, NOON + 4 * SECOND)
        assert since == nothing | {OK: 1, DEAD: 1, PENDING: 1}

    asyncio.run(story())


def test_every_try_is_kept_whole_and_in_order(store: Store) -> None:
    async def story() -> None:
        whole = an_attempt(
            number=2,
            at=NOON + timedelta(microseconds=1),
            status=503,
            failure="timeout",
            why="It did not answer within 15 s.",
            timings=Timings(dns_ms=0.25, connect_ms=1.5, total_ms=15_000.125),
            remote="192.0.2.7",
            snippet='{"ü": "\\u0000"}\n',
            replay=True,
            together=40,
        )
        await put(store, a_delivery())
        tries = [an_attempt(number=10), whole]
        await store.commit(LAB, Change(deliveries=[a_delivery(version=1)], attempts=tries))
        await store.commit(LAB, Change(attempts=[an_attempt(), an_attempt(2)]))

        found = await store.attempts(OURS, "event-1")
        assert found == [an_attempt(), whole, an_attempt(number=10)]
        assert await store.attempts(THEIRS, "event-1") == []

    asyncio.run(story())


# --- forgetting


def test_what_ended_long_ago_is_let_go_with_its_tries_and_nothing_else_is(store: Store) -> None:
    async def story() -> None:
        rows = [
            a_delivery(1, state=OK, ended_at=NOON + HOUR),
            a_delivery(2, state=DEAD, ended_at=NOON + HOUR),
            a_delivery(3, state=KEPT),
            a_delivery(4, state=OK, ended_at=NOON + 2 * HOUR),
            a_delivery(5, state=KEPT, made_at=NOON + 2 * HOUR),
            a_delivery(6, due=NOON),
            a_delivery(7, state=RETRY, due=NOON, attempts=1, ended_at=NOON),
        ]
        others = [replace(each, endpoint=THEIRS) for each in rows]
        tries = [an_attempt(each.seq, endpoint=each.endpoint) for each in (*rows, *others)]
        await store.commit(LAB, Change(deliveries=[*rows, *others], attempts=tries))

        assert await store.forget_deliveries(OURS, ended_before=NOON + HOUR) == 1
        assert await seqs(store) == [5, 7, 6, 4, 2, 1]
        assert await store.forget_deliveries(OURS, ended_before=NOON + 2 * HOUR) == 2
        assert await seqs(store) == [5, 7, 6, 4]
        assert await store.attempts(OURS, "event-1") == []
        assert len(await store.attempts(OURS, "event-4")) == 1
        assert len(await seqs(store, endpoint=THEIRS)) == 7

        assert await store.forget_deliveries("", ended_before=NOON + 3 * HOUR) == 2 + 5
        assert await seqs(store) == await seqs(store, endpoint=THEIRS) == [7, 6]
        assert await store.forget_deliveries("", ended_before=NOON + 3 * HOUR) == 0

    asyncio.run(story())


def test_an_endpoint_is_forgotten_with_all_that_waits_for_it(store: Store) -> None:
    async def story() -> None:
        number = in_sqlite.BATCH + 5
        rows = [a_delivery(n, due=NOON) for n in range(number)]
        await store.commit(LAB, Change(deliveries=rows, attempts=[an_attempt(0), an_attempt(-1)]))
        await put(store, a_delivery(endpoint=THEIRS, due=NOON))

        assert await store.forget_deliveries("", ended_before=None) == 0
        assert await store.forget_deliveries(OURS, ended_before=None) == number
        assert await seqs(store) == []
        assert await store.attempts(OURS, "event-0") == await store.attempts(OURS, "event--1") == []
        assert await store.lanes() == {THEIRS: NOON}
        assert await store.forget_deliveries(OURS, ended_before=None) == 0

    asyncio.run(story())


def test_whoever_writes_about_what_was_forgotten_is_told_so(store: Store) -> None:
    async def story() -> None:
        await put(store, a_delivery(due=NOON))
        await store.forget_deliveries(OURS, ended_before=None)
        with pytest.raises(Conflict):
            await put(store, a_delivery(state=OK, version=1))
        assert await seqs(store) == []

    asyncio.run(story())


# --- the events that are told


def test_events_are_read_by_their_numbers_as_far_as_they_are_there(store: Store) -> None:
    async def story() -> None:
        await store.commit(LAB, Change(events=[a_draft(n) for n in range(1, 9)]))
        events = {event.seq: event for event in await store.events(LAB, EventQuery())}

        assert await store.events_at(LAB, []) == {}
        assert await store.events_at(LAB, [8, 2, 2]) == {2: events[2], 8: events[8]}
        assert await store.events_at(LAB, {-1, 0, 9, 10**15}) == {}
        assert await store.events_at("clusother", [1]) == {}

    asyncio.run(story())


def test_events_that_were_sealed_are_left_out(store: Store) -> None:
    async def story() -> None:
        await store.commit(LAB, Change(events=[a_draft(n) for n in range(1, 4)]))
        cut = await store.head(LAB)
        await store.commit(LAB, Change(events=[a_draft(n) for n in range(4, 6)]))
        await store.seal(LAB, cut, Change())

        assert sorted(await store.events_at(LAB, range(1, 9))) == [4, 5]

    asyncio.run(story())


def test_deliveries_are_there_after_reopening(tmp_path: Path) -> None:
    async def story() -> None:
        first = SqliteStore(tmp_path / "clusterra.db")
        await put(first, a_delivery(due=NOON))
        first.close()

        second = SqliteStore(tmp_path / "clusterra.db")
        assert await second.delivery(OURS, "event-1") == a_delivery(due=NOON, version=1)
        assert await second.lanes() == {OURS: NOON}
        second.close()

    asyncio.run(story())

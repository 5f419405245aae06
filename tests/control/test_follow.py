"""Whoever follows a ledger sees each event once, in order, wherever they begin."""

import asyncio
import re

import pytest

from clusterra.control import follow
from clusterra.control.follow import Hub, Reader
from clusterra.core.change import Change
from clusterra.core.events.chain import Growing, Head
from clusterra.core.events.event import EventQuery
from clusterra.ports import Store
from tests.ledger import a_draft

LAB = "cluslab1"
EVERYTHING = EventQuery()


async def commit(store: Store, *numbers: int) -> None:
    await store.commit(LAB, Change(events=[a_draft(n) for n in numbers]))


async def start(hub: Hub, after: int | None, query: EventQuery = EVERYTHING) -> Reader:
    return await hub.follow(LAB, query, None, after=after)


def ids(sent: bytes) -> list[int]:
    return [int(each) for each in re.findall(rb"^id: (\d+)$", sent, re.MULTILINE)]


async def read(reader: Reader, events: int) -> list[int]:
    """Return the numbers of the next events, as soon as there are so many."""
    found: list[int] = []
    async with asyncio.timeout(10):
        while len(found) < events:
            if sent := await reader.read():
                found += ids(sent)
            else:
                await wait(reader)
    return found


async def wait(reader: Reader) -> None:
    if (news := reader.news()) is not None:
        await news


def test_a_reader_is_told_what_was_written_and_then_what_is_being_written(store: Store) -> None:
    async def story() -> None:
        hub = Hub(store)
        await commit(store, 1, 2, 3)
        reader = await start(hub, after=1)

        assert await read(reader, 2) == [2, 3]
        await commit(store, 4)
        assert await read(reader, 1) == [4]
        reader.leave()

    asyncio.run(story())


def test_without_a_position_a_reader_starts_at_the_present(store: Store) -> None:
    async def story() -> None:
        hub = Hub(store)
        await commit(store, 1, 2)
        reader = await start(hub, after=None)
        await commit(store, 3)

        assert await read(reader, 1) == [3]
        reader.leave()

    asyncio.run(story())


def test_readers_that_begin_anywhere_while_events_pour_in_miss_none_and_see_none_twice(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A ring of eight, so that most of them have to be served from the ledger and change over.
    monkeypatch.setattr(follow, "RING", 8)
    monkeypatch.setattr(follow, "PAGE", 3)

    async def story() -> None:
        hub = Hub(store)
        await commit(store, *range(1, 41))
        readers = [await start(hub, after) for after in range(41)]

        async def pour() -> None:
            for n in range(41, 101):
                await commit(store, n)

        async with asyncio.TaskGroup() as group:
            group.create_task(pour())
            reads = [group.create_task(read(each, 100 - at)) for at, each in enumerate(readers)]

        for after, task in enumerate(reads):
            assert task.result() == list(range(after + 1, 101))
        for reader in readers:
            reader.leave()

    asyncio.run(story())


def test_a_reader_that_was_slow_is_served_from_the_ledger(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "RING", 4)

    async def story() -> None:
        hub = Hub(store)
        slow, quick = await start(hub, after=0), await start(hub, after=0)
        for n in range(1, 21):
            await commit(store, n)
            assert await read(quick, 1) == [n]

        assert await read(slow, 20) == list(range(1, 21))
        slow.leave()
        quick.leave()

    asyncio.run(story())


def test_a_reader_that_comes_after_nobody_read_for_long_misses_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "RING", 4)

    async def story() -> None:
        hub = Hub(store)
        first = await start(hub, after=0)
        await commit(store, 1)
        assert await read(first, 1) == [1]
        await commit(store, 2)
        assert await read(first, 1) == [2]
        first.leave()
        await commit(store, *range(3, 21))

        for after in range(20):
            reader = await start(hub, after)
            assert await read(reader, 20 - after) == list(range(after + 1, 21))
            reader.leave()

    asyncio.run(story())


def test_a_filter_means_the_same_in_the_past_and_in_the_present(store: Store) -> None:
    async def story() -> None:
        hub = Hub(store)
        await commit(store, 1, 2, 3)
        wanted = EventQuery(types=("job.*",), subject="job/2")
        reader = await start(hub, after=0, query=wanted)
        assert await read(reader, 1) == [2]
        await commit(store, 4)
        nothing = await start(hub, after=0, query=EventQuery(types=("node.*",)))

        assert await reader.read() == await nothing.read() == b""
        reader.leave()
        nothing.leave()

    asyncio.run(story())


def test_an_event_somebody_may_not_read_is_not_sent_to_them(store: Store) -> None:
    async def story() -> None:
        hub = Hub(store)
        await commit(store, 1, 2)
        reader = await hub.follow(LAB, EVERYTHING, lambda event: event.seq % 2 == 0, after=0)
        assert await read(reader, 1) == [2]
        await commit(store, 3, 4)

        assert await read(reader, 1) == [4]
        reader.leave()

    asyncio.run(story())


@pytest.mark.parametrize("after", [3, 10_000])
def test_a_position_the_ledger_never_reached_is_answered_by_where_it_goes_on(
    store: Store, after: int
) -> None:
    async def story() -> None:
        await commit(store, 1, 2)
        reader = await start(Hub(store), after)

        assert await reader.read() == b'event: reset\ndata: {"oldest":1,"newest":2}\n\n'
        assert await read(reader, 2) == [1, 2]
        reader.leave()

    asyncio.run(story())


async def seal(store: Store, up_to: int) -> None:
    """Let go of the first events, as a sealed segment does."""
    growing = Growing(Head())
    for event in await store.events(LAB, EventQuery(limit=up_to)):
        growing.add(event.body)
    await store.seal(LAB, growing.head(), Change())


def test_a_position_that_was_sealed_away_is_answered_by_the_oldest_there_is(store: Store) -> None:
    async def story() -> None:
        await commit(store, *range(1, 7))
        await seal(store, 4)
        hub = Hub(store)
        reader, exact = await start(hub, after=2), await start(hub, after=4)

        assert await reader.read() == b'event: reset\ndata: {"oldest":5,"newest":6}\n\n'
        assert await read(reader, 2) == [5, 6]
        assert await read(exact, 2) == [5, 6]
        reader.leave()
        exact.leave()

    asyncio.run(story())


def test_a_slow_reader_is_told_when_what_it_wanted_was_sealed_meanwhile(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "RING", 2)

    async def story() -> None:
        hub = Hub(store)
        slow, quick = await start(hub, after=0), await start(hub, after=0)
        for n in range(1, 7):
            await commit(store, n)
            assert await read(quick, 1) == [n]
        await seal(store, 4)

        assert await slow.read() == b'event: reset\ndata: {"oldest":5,"newest":6}\n\n'
        assert await read(slow, 2) == [5, 6]
        slow.leave()
        quick.leave()

    asyncio.run(story())


def test_events_that_another_process_wrote_are_found_without_being_told(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "ELSEWHERE", 0.01)

    async def story() -> None:
        hub = Hub(store)
        monkeypatch.setattr(hub, "_told", None)
        monkeypatch.setattr(follow._Feed, "look", lambda _: None)
        reader = await start(hub, after=0)
        await commit(store, 1)

        assert await read(reader, 1) == [1]
        reader.leave()

    asyncio.run(story())


def test_closing_the_hub_ends_those_who_wait_and_those_who_come_later(store: Store) -> None:
    async def story() -> None:
        hub = Hub(store)
        waiting = await start(hub, after=None)
        asyncio.get_running_loop().call_soon(hub.close)

        async with asyncio.timeout(10):
            await wait(waiting)
        late = await start(hub, after=None)
        assert waiting.closed
        assert late.closed
        waiting.leave()
        late.leave()

    asyncio.run(story())


def test_a_wake_that_comes_before_the_wait_is_not_lost(store: Store) -> None:
    async def story() -> None:
        reader = await start(Hub(store), after=None)
        reader.wake()

        async with asyncio.timeout(10):
            await wait(reader)
        reader.leave()

    asyncio.run(story())


def test_frames_are_one_data_line_of_the_stored_bytes(store: Store) -> None:
    async def story() -> tuple[bytes, bytes]:
        await commit(store, 1)
        reader = await start(Hub(store), after=0)
        async with asyncio.timeout(10):
            while not (sent := await reader.read()):
                await wait(reader)
        reader.leave()
        [event] = await store.events(LAB, EventQuery())
        return sent, event.body

    sent, body = asyncio.run(story())

    assert sent == b"id: 1\nevent: job.started\ndata: " + body + b"\n\n"

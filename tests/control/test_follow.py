"""Whoever follows a ledger sees each event once, in order, wherever they begin."""

import asyncio
import re

import pytest

from clusterra.control import follow
from clusterra.control.follow import Hub, Reader
from clusterra.core.change import Change
from clusterra.core.events.event import EventQuery
from clusterra.ports import Store
from tests.ledger import a_draft

LAB = "cluslab1"
EVERYTHING = EventQuery()


async def commit(store: Store, *numbers: int) -> None:
    await store.commit(LAB, Change(events=[a_draft(n) for n in numbers]))


async def start(hub: Hub, after: int | None, query: EventQuery = EVERYTHING) -> Reader:
    return await hub.follow(LAB, query, lambda _: True, after=after)


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
                await reader.wait()
    return found


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
            await waiting.wait()
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
            await reader.wait()
        reader.leave()

    asyncio.run(story())


def test_frames_are_one_data_line_of_the_stored_bytes(store: Store) -> None:
    async def story() -> tuple[bytes, bytes]:
        await commit(store, 1)
        reader = await start(Hub(store), after=0)
        async with asyncio.timeout(10):
            while not (sent := await reader.read()):
                await reader.wait()
        reader.leave()
        [event] = await store.events(LAB, EventQuery())
        return sent, event.body

    sent, body = asyncio.run(story())

    assert sent == b"id: 1\nevent: job.started\ndata: " + body + b"\n\n"

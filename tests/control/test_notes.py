"""Outcomes on their way to the store: soon, together, and none lost by another."""

import asyncio
from dataclasses import replace

from clusterra.adapters.memory import MemoryStore
from clusterra.control.notes import Notes
from clusterra.core.change import Change, Kind, Record
from clusterra.ports import Store
from tests.world import LAB

NOTE: Kind[str] = Kind("note", str)


def note(id: str, value: str = "done") -> Record[str]:
    return Record(kind=NOTE, id=id, value=value)


class CountingStore(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self.commits = 0

    async def commit(self, cluster: str, change: Change) -> int:
        self.commits += 1
        return await super().commit(cluster, change)


async def values(store: Store, *ids: str) -> list[str]:
    return [(await store.get(NOTE, id, "nothing")).value for id in ids]


def test_what_is_noted_at_once_is_one_commit() -> None:
    async def story() -> None:
        store = CountingStore()
        notes = Notes(cluster=LAB, store=store)
        for number in range(100):
            notes.add(note(str(number)))
        await notes.all_written()

        assert await values(store, "0", "99") == ["done", "done"]
        assert store.commits == 1

    asyncio.run(story())


def test_waiting_for_a_note_is_over_when_it_is_in_the_store(store: Store) -> None:
    async def story() -> None:
        notes = Notes(cluster=LAB, store=store)
        notes.add(note("a"))
        assert await values(store, "a") == ["nothing"]

        await notes.written("a")
        await notes.written("never added")
        assert await values(store, "a") == ["done"]

        notes.add(note("b"))
        await notes.all_written()
        assert await values(store, "b") == ["done"]

    asyncio.run(story())


def test_a_note_that_does_not_fit_takes_no_other_with_it(store: Store) -> None:
    async def story() -> None:
        notes = Notes(cluster=LAB, store=store)
        notes.add(note("a"))
        notes.add(replace(note("b"), version=7))
        notes.add(note("c"))
        await notes.all_written()

        assert await values(store, "a", "b", "c") == ["done", "nothing", "done"]

    asyncio.run(story())


def test_whoever_waits_for_a_note_and_gives_up_does_not_stop_it(store: Store) -> None:
    async def story() -> None:
        notes = Notes(cluster=LAB, store=store)
        notes.add(note("a"))
        waiting = asyncio.create_task(notes.written("a"))
        await asyncio.sleep(0)
        waiting.cancel()
        await notes.all_written()

        assert await values(store, "a") == ["done"]

    asyncio.run(story())

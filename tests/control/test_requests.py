"""What was submitted is kept, locked, for as long as was said, and no longer."""

import asyncio
import os
from dataclasses import replace
from datetime import timedelta

import pytest

from clusterra.adapters.memory import ManualClock
from clusterra.adapters.vault import LocalVault
from clusterra.control.requests import BATCH, LARGEST, REQUEST, Requests
from clusterra.core.access import Caller
from clusterra.core.change import Change
from clusterra.core.errors import Refused
from clusterra.core.ids import uuid7
from clusterra.core.jobs.request import JobRequest
from clusterra.ports import Login, Store
from clusterra.settings import JobSettings, Settings
from clusterra.wiring import make_plane
from tests.builders import NOON
from tests.world import LAB, TOKEN, World

SCRIPT = "#!/bin/sh\nexport TOKEN=hush\n"
REQUESTED = JobRequest(script=SCRIPT, properties={"name": "align", "memory_per_node": 1024})
EARLY, LATE = uuid7(NOON, b"a" * 10), uuid7(NOON + timedelta(hours=1), b"b" * 10)


def requests(store: Store, *, keep_days: int = 30, clock: ManualClock | None = None) -> Requests:
    return Requests(
        store=store,
        vault=LocalVault(os.urandom(32)),
        clock=clock or ManualClock(NOON),
        keep_days=keep_days,
    )


async def keep(kept: Requests, *run_ids: str) -> None:
    records = [kept.kept(run_id, REQUESTED, "ana") for run_id in run_ids]
    await kept.store.commit(LAB, Change(puts=[each for each in records if each]))


def test_a_request_comes_back_as_it_was(store: Store) -> None:
    async def story() -> None:
        kept = requests(store)
        await keep(kept, EARLY)

        assert await kept.of(EARLY) == REQUESTED
        assert await kept.of(LATE) is None
        assert await kept.of("") is None

    asyncio.run(story())


def test_the_database_does_not_show_it() -> None:
    record = requests(World().store).kept(EARLY, REQUESTED, "ana")

    assert record is not None
    assert "hush" not in repr(record)
    assert record.id == EARLY


def test_another_servers_key_does_not_open_it(store: Store) -> None:
    async def story() -> None:
        await keep(requests(store), EARLY)

        with pytest.raises(Refused, match="another key"):
            await requests(store).of(EARLY)

    asyncio.run(story())


def test_what_is_too_large_is_not_kept() -> None:
    kept = requests(World().store)

    def of(length: int) -> object:
        return kept.kept(EARLY, JobRequest(script="x" * length), "ana")

    around_it = len('["",{}]')
    assert of(LARGEST - around_it) is not None
    assert of(LARGEST - around_it + 1) is None


def test_what_is_old_enough_goes_and_nothing_before(store: Store) -> None:
    async def story() -> None:
        clock = ManualClock(NOON)
        kept = requests(store, keep_days=30, clock=clock)
        await keep(kept, EARLY, LATE)
        while await kept.tidy():
            pass
        clock.advance(timedelta(days=30))
        while await kept.tidy():
            pass
        assert await kept.of(EARLY) is not None

        # Run ids are told apart by the minute.
        clock.advance(timedelta(minutes=3))
        while await kept.tidy():
            pass
        assert await kept.of(EARLY) is None
        assert await kept.of(LATE) is not None

        clock.advance(timedelta(days=100))
        while await kept.tidy():
            pass
        assert await kept.of(LATE) is None

    asyncio.run(story())


def test_what_was_kept_before_the_first_round_goes_too(store: Store) -> None:
    async def story() -> None:
        clock = ManualClock(NOON)
        await keep(requests(store, clock=clock), EARLY)
        clock.advance(timedelta(days=30, hours=1))
        kept = requests(store, clock=clock)

        while await kept.tidy():
            pass

        assert not await store.list(REQUEST)

    asyncio.run(story())


def test_many_of_one_minute_go_in_batches() -> None:
    async def story() -> None:
        world = World()
        kept = requests(world.store, clock=world.clock)
        ids = [uuid7(NOON, number.to_bytes(10, "big")) for number in range(BATCH + 1)]
        await keep(kept, *ids)
        world.clock.advance(timedelta(days=30, hours=1))

        while await kept.tidy():
            pass

        assert not await world.store.list(REQUEST)

    asyncio.run(story())


@pytest.mark.parametrize(("days", "is_kept"), [(30, True), (0, False)])
def test_what_slurm_takes_is_kept_unless_nothing_is_to_be(days: int, is_kept: bool) -> None:
    async def story() -> None:
        world = World()
        plane = make_plane(
            Settings(jobs=JobSettings(keep_requests_days=days)),
            store=world.store,
            clock=world.clock,
            sites=[world.site],
            token=TOKEN,
        )

        def compose(_: Login, run_id: str) -> JobRequest:
            return replace(REQUESTED, properties=REQUESTED.properties | {"comment": run_id})

        submitter = plane.submitters[LAB]
        done = await submitter.submit(compose, Caller(user="ana"), body=b"")
        await submitter.settle()

        found = await plane.requests.of(done.submission.run_id)
        assert (found is not None) is is_kept
        if found:
            assert found.properties["comment"] == done.submission.run_id

    asyncio.run(story())


def test_what_slurm_refuses_is_not_kept() -> None:
    async def story() -> None:
        world = World()
        submitter = world.plane().submitters[LAB]

        with pytest.raises(Refused):
            await submitter.submit(
                lambda *_: JobRequest(script=SCRIPT, properties={"partition": "nowhere"}),
                Caller(user="ana"),
                body=b"",
            )
        await submitter.settle()

        assert not await world.store.list(REQUEST)

    asyncio.run(story())

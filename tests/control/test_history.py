import asyncio
from dataclasses import replace
from datetime import timedelta

from clusterra.control.history import read_past
from clusterra.core.change import Change
from clusterra.core.jobs.job import JobState
from clusterra.core.jobs.query import Query
from clusterra.ports import Store
from tests.world import LAB, World


async def read(world: World, days: int = 3) -> None:
    await read_past(world.site, days=days, store=world.store, clock=world.clock)


def test_the_past_is_read_once_day_by_day(store: Store) -> None:
    async def story() -> None:
        world = World(store)
        for _ in range(3):
            world.slurm.move(id := await world.submitted_past_us(), JobState.COMPLETED)
            world.slurm.forget(id)
            world.clock.advance(timedelta(days=1))
        await world.observer.look()

        await read(world)
        await read(world)

        assert await store.count(LAB, Query()) == 3
        assert world.slurm.asked["history"] == 3

    asyncio.run(story())


def test_what_ended_while_we_were_away_is_read_when_we_are_back(store: Store) -> None:
    async def story() -> None:
        world = World(store)
        await world.observer.look()
        await read(world)
        world.clock.advance(timedelta(hours=8))
        world.slurm.move(id := await world.submitted_past_us(), JobState.COMPLETED)
        world.slurm.forget(id)

        again = World(store)
        again.clock.advance(timedelta(hours=9))
        again.site.slurm = world.slurm
        await again.observer.look()
        await read(again)

        assert (await again.job(id)).state is JobState.COMPLETED

    asyncio.run(story())


def test_live_jobs_are_left_to_the_observer(store: Store) -> None:
    async def story() -> None:
        world = World(store)
        await world.observer.look()
        await world.submitted_past_us()

        await read(world)

        assert await store.count(LAB, Query()) == 0

    asyncio.run(story())


def test_nothing_is_read_before_slurm_has_been_seen(store: Store) -> None:
    async def story() -> None:
        world = World(store)

        await read(world)

        assert world.slurm.asked["history"] == 0

    asyncio.run(story())


def test_an_earlier_run_never_replaces_a_later_one(store: Store) -> None:
    async def story() -> None:
        world = World(store)
        id = await world.submitted_past_us()
        await world.observer.look()
        again = replace(await world.job(id), state=JobState.COMPLETED, restarts=1)
        await store.commit(LAB, Change(jobs=[again]))
        world.slurm.move(id, JobState.NODE_FAIL)
        world.slurm.forget(id)

        await read(world)

        assert (await world.job(id)).state is JobState.COMPLETED

    asyncio.run(story())

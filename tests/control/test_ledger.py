"""What the ledger comes to hold when a cluster is observed."""

import asyncio
from collections import Counter
from collections.abc import Coroutine
from datetime import timedelta
from typing import Any

import pytest

from clusterra.control.acts import WITHIN
from clusterra.control.change_job import cancel_job, hold_job
from clusterra.control.find import find_job
from clusterra.control.history import read_past
from clusterra.control.link import NOTABLE
from clusterra.core.access import Caller, Role
from clusterra.core.errors import Conflict, Unreachable
from clusterra.core.events.event import Event, EventQuery
from clusterra.core.jobs.job import JobState
from clusterra.ports import Store
from tests.world import LAB, World

SECOND = timedelta(seconds=1)
BEN = Caller(user="ben", role=Role.ADMIN)


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(story)


async def ledger(store: Store, *types: str) -> list[Event]:
    return list(await store.events(LAB, EventQuery(types=types, limit=10_000)))


async def told(store: Store, id: int) -> list[str]:
    """Return what happened to a job; what it cost is told beside that, and tested by itself."""
    events = await store.events(LAB, EventQuery(subject=f"job/{id}"))
    return [event.type for event in events if not event.type.startswith("job.cost.")]


def again(world: World) -> World:
    """The control plane after it died and was started again: the same store, nothing in mind."""
    reborn = World(world.store)
    reborn.slurm, reborn.clock = world.slurm, world.clock
    reborn.site.slurm = world.slurm
    for part in (reborn.observer, reborn.site.linked, reborn.site.recorder):
        part.clock = world.clock
    reborn.site.recorder.acts.clock = world.clock
    return reborn


def test_a_job_followed_from_step_to_step_has_each_step_once(store: Store) -> None:
    async def story() -> None:
        world = World(store)
        await world.observer.look()
        id = await world.submitted_past_us()
        await world.observer.look()
        world.clock.advance(SECOND)
        world.slurm.move(id, JobState.RUNNING)
        await world.observer.look()
        await world.observer.look()
        world.clock.advance(SECOND)
        world.slurm.move(id, JobState.COMPLETED)
        await world.observer.look()

        assert await told(store, id) == ["job.submitted", "job.started", "job.completed"]

    run(story())


def test_what_happened_while_nobody_looked_is_told_afterwards_from_accounting(
    store: Store,
) -> None:
    async def story() -> None:
        world = World(store)
        await world.observer.look()
        await read_past(world.site, days=1, store=store, clock=world.clock)
        ids = []
        for _ in range(20):
            ids.append(id := await world.submitted_past_us())
            world.slurm.move(id, JobState.RUNNING)
            world.clock.advance(SECOND)
            world.slurm.move(id, JobState.FAILED)
            world.slurm.forget(id)

        world = again(world)
        await world.observer.look()
        await read_past(world.site, days=1, store=store, clock=world.clock)

        for id in ids:
            assert await told(store, id) == ["job.submitted", "job.started", "job.failed"]

    run(story())


def test_a_control_plane_that_dies_all_the_time_tells_nothing_twice(store: Store) -> None:
    async def story() -> None:
        world = World(store)
        await world.observer.look()
        ids = [await world.submitted_past_us() for _ in range(5)]
        for state in (JobState.RUNNING, JobState.COMPLETED):
            for id in ids:
                world = again(world)
                await world.observer.look()
                world.slurm.move(id, state)
        world = again(world)
        await world.observer.look()

        counted = Counter(event.type for event in await ledger(store, "job.*"))
        assert counted == {
            "job.submitted": 5,
            "job.started": 5,
            "job.cost.estimated": 5,
            "job.completed": 5,
            "job.cost.finalized": 5,
        }

    run(story())


def test_the_past_before_a_cluster_was_connected_is_no_event(store: Store) -> None:
    async def story() -> None:
        world = World(store)
        world.slurm.move(await world.submitted_past_us(), JobState.COMPLETED)
        waiting = await world.submitted_past_us()
        world.clock.advance(timedelta(hours=1))

        await world.observer.look()
        await read_past(world.site, days=1, store=store, clock=world.clock)
        assert [event.type for event in await ledger(store)] == ["cluster.connected"]

        world.slurm.move(waiting, JobState.RUNNING)
        await world.observer.look()
        assert "job.started" in await told(store, waiting)
        assert "job.submitted" not in await told(store, waiting)

    run(story())


def test_looking_a_job_up_tells_of_it_too(store: Store) -> None:
    async def story() -> None:
        world = World(store)
        await world.observer.look()
        id = await world.submitted_past_us()

        await find_job(world.site, str(id), BEN, store=store)
        await world.observer.look()

        assert await told(store, id) == ["job.submitted"]

    run(story())


def test_details_that_had_to_wait_for_the_budget_are_told_in_full_later(store: Store) -> None:
    async def story() -> None:
        world = World(store, calls_per_minute=8)
        await world.observer.look()
        ids = [await world.submitted_past_us() for _ in range(12)]
        for id in ids:
            world.slurm.move(id, JobState.RUNNING)
        for _ in range(40):
            world.clock.advance(timedelta(seconds=15))
            await world.observer.look()
        for id in ids:
            world.slurm.move(id, JobState.FAILED, exit_code=3)
        for _ in range(40):
            world.clock.advance(timedelta(seconds=15))
            await world.observer.look()

        ends = await ledger(store, "job.failed")
        assert len(ends) == 12
        assert all(b'"exit_code":3' in event.body for event in ends)

    run(story())


def test_a_wait_is_told_when_it_has_become_one(store: Store) -> None:
    async def story() -> None:
        world = World(store)
        await world.observer.look()
        id = await world.submitted_past_us()
        await world.observer.look()
        assert await told(store, id) == ["job.submitted"]

        world.clock.advance(timedelta(seconds=6))
        await world.observer.look()
        await world.observer.look()

        assert await told(store, id) == ["job.submitted", "job.pending"]

    run(story())


def test_a_job_that_started_in_time_did_not_wait_although_nobody_saw_it_start(
    store: Store,
) -> None:
    async def story() -> None:
        world = World(store)
        await world.observer.look()
        id = await world.submitted_past_us()
        await world.observer.look()
        world.clock.advance(timedelta(seconds=2))
        world.slurm.move(id, JobState.RUNNING)
        world.clock.advance(timedelta(seconds=9))
        await world.observer.look()

        assert await told(store, id) == ["job.submitted", "job.started"]

    run(story())


def test_whoever_acts_through_us_is_named(store: Store) -> None:
    async def story() -> None:
        world = World(store)
        await world.observer.look()
        id = await world.submitted_past_us()
        await world.observer.look()
        await hold_job(world.site, str(id), BEN, store=store)
        world = again(world)
        await world.observer.look()
        await cancel_job(world.site, str(id), BEN, store=store)
        await world.observer.look()

        events = await ledger(store, "job.*")
        assert [(event.type, event.actor) for event in events] == [
            ("job.submitted", "user:ana"),
            ("job.held", "user:ben"),
            ("job.cancelled", "user:ben"),
        ]

    run(story())


def test_an_act_that_came_to_nothing_is_put_down_to_nobody(store: Store) -> None:
    async def story() -> None:
        world = World(store)
        await world.observer.look()
        id = await world.submitted_past_us()
        world.slurm.move(id, JobState.RUNNING)
        await world.observer.look()
        with pytest.raises(Conflict):
            await hold_job(world.site, str(id), BEN, store=store)

        assert await world.site.recorder.acts.on(id) == {}

    run(story())


def test_an_act_is_not_remembered_for_ever(store: Store) -> None:
    async def story() -> None:
        world = World(store)
        await world.observer.look()
        id = await world.submitted_past_us()
        await world.observer.look()
        await world.site.recorder.acts.note([await world.job(id)], "cancelled", BEN)
        world.clock.advance(WITHIN + SECOND)
        world.slurm.move(id, JobState.CANCELLED)
        await world.observer.look()

        [event] = await ledger(store, "job.cancelled")
        assert event.actor == "system:slurm"

    run(story())


def test_a_cluster_out_of_sight_is_told_once_and_its_return_once(store: Store) -> None:
    async def story() -> None:
        world = World(store)
        await world.observer.look()
        world.slurm.reachable = False
        for _ in range(5):
            with pytest.raises(Unreachable):
                await world.observer.look()
            world.clock.advance(NOTABLE / 2)
        world.slurm.reachable = True
        await world.observer.look()
        await world.observer.look()

        assert [event.type for event in await ledger(store, "cluster.*")] == [
            "cluster.connected",
            "cluster.unreachable",
            "cluster.recovered",
        ]

    run(story())


def test_a_cluster_out_of_sight_for_a_moment_is_no_event(store: Store) -> None:
    async def story() -> None:
        world = World(store)
        await world.observer.look()
        world.slurm.reachable = False
        with pytest.raises(Unreachable):
            await world.observer.look()
        world.slurm.reachable = True
        await world.observer.look()

        assert [event.type for event in await ledger(store)] == ["cluster.connected"]

    run(story())


@pytest.mark.parametrize(
    ("said", "type"),
    [
        (b"slurmstepd: error: Job 1 exceeded memory limit (4 > 1), being killed", "out_of_memory"),
        (b"kill -9 $$", "failed"),
    ],
)
def test_a_job_killed_for_its_memory_is_told_as_that(store: Store, said: bytes, type: str) -> None:
    async def story() -> None:
        world = World(store)
        await world.observer.look()
        id = await world.submitted_past_us()
        world.slurm.move(id, JobState.RUNNING)
        world.slurm.move(id, JobState.FAILED, signal=9)
        world.logs.written[id] = said
        await world.observer.look()
        await again(world).observer.look()

        assert await told(store, id) == ["job.submitted", "job.started", f"job.{type}"]

    run(story())


def test_late_words_of_a_slow_look_move_nothing_back(store: Store) -> None:
    async def story() -> None:
        world = World(store)
        await world.observer.look()
        id = await world.submitted_past_us()
        running = world.slurm.move(id, JobState.RUNNING)
        world.slurm.move(id, JobState.COMPLETED)
        await world.observer.look()

        await world.site.recorder.record([running])

        assert (await world.job(id)).state is JobState.COMPLETED
        assert await told(store, id) == ["job.submitted", "job.started", "job.completed"]

    run(story())

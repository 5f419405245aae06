"""What the observer promises: the store follows Slurm, at little cost, and never guesses."""

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from clusterra.control.observe import LOST_AFTER, NODES_EVERY, PART, compare
from clusterra.core.change import Change
from clusterra.core.errors import Unreachable
from clusterra.core.jobs.job import JobState
from clusterra.core.jobs.query import Query
from clusterra.core.seen import Seen
from clusterra.ports import Store
from tests.builders import a_job
from tests.world import LAB, World


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(story)


def test_a_job_is_followed_from_its_submission_to_its_end(store: Store) -> None:
    async def story() -> None:
        world = World(store)
        await world.observer.look()
        id = await world.submitted_past_us(name="align")
        seen = []
        for state in (None, JobState.RUNNING, JobState.COMPLETED):
            if state:
                world.slurm.move(id, state)
            await world.observer.look()
            seen.append((await world.job(id)).state)

        assert seen == [JobState.PENDING, JobState.RUNNING, JobState.COMPLETED]
        assert (await world.job(id)).name == "align"

    run(story())


def test_the_first_look_reads_everything_once(store: Store) -> None:
    async def story() -> None:
        world = World(store)
        for _ in range(30):
            await world.submitted_past_us()

        await world.observer.look()

        assert await store.count(LAB, Query()) == 30
        assert world.slurm.asked["all_jobs"] == 1
        assert world.slurm.asked["job"] == 0

    run(story())


def test_a_quiet_queue_costs_one_cheap_call_a_look(store: Store) -> None:
    async def story() -> None:
        world = World(store)
        world.slurm.move(await world.submitted_past_us(), JobState.RUNNING)
        await world.observer.look()
        world.slurm.asked.clear()

        assert await world.observer.look()

        assert world.slurm.asked == {"states": 1}

    run(story())


def test_why_a_job_waits_is_looked_at_again_in_turn_within_a_tenth_of_the_budget(
    store: Store,
) -> None:
    async def story() -> None:
        world = World(store, calls_per_minute=600)
        ids = [await world.submitted_past_us() for _ in range(7)]
        await world.observer.look()
        for id in ids:
            world.slurm.move(id, JobState.PENDING, reason="Resources")
        world.slurm.asked.clear()

        for _ in range(4):
            await world.observer.look()

        assert world.slurm.asked["job"] == 7
        assert {(await world.job(id)).reason for id in ids} == {"Resources"}

    run(story())


def test_a_look_that_breaks_off_loses_nothing(store: Store) -> None:
    async def story() -> None:
        world = World(store)
        ids = [await world.submitted_past_us() for _ in range(5)]
        await world.observer.look()
        for id in ids:
            world.slurm.move(id, JobState.RUNNING)
        world.slurm.breaks_after = 3
        with pytest.raises(Unreachable):
            await world.observer.look()

        world.slurm.breaks_after = None
        await world.observer.look()

        assert {(await world.job(id)).nodes for id in ids} == {"w1"}

    run(story())


def test_nothing_going_on_is_said_so(store: Store) -> None:
    async def story() -> None:
        world = World(store)
        id = await world.submitted_past_us()
        assert await world.observer.look()
        world.slurm.move(id, JobState.COMPLETED)
        assert await world.observer.look()

        assert not await world.observer.look()

    run(story())


def test_the_end_of_a_job_that_left_the_controller_comes_from_accounting(store: Store) -> None:
    async def story() -> None:
        world = World(store)
        id = await world.submitted_past_us()
        await world.observer.look()
        world.slurm.move(id, JobState.FAILED, exit_code=3)
        world.slurm.forget(id)

        await world.observer.look()

        ended = await world.job(id)
        assert (ended.state, ended.exit_code) == (JobState.FAILED, 3)

    run(story())


def test_a_job_is_lost_only_after_slurm_answered_long_enough_without_knowing_it(
    store: Store,
) -> None:
    async def story() -> None:
        world = World(store)
        await store.commit(LAB, Change(jobs=[a_job(77, state=JobState.RUNNING)]))
        await world.observer.look()
        world.clock.advance(LOST_AFTER - timedelta(seconds=1))
        await world.observer.look()
        assert (await world.job(77)).state is JobState.RUNNING

        world.clock.advance(timedelta(seconds=1))
        await world.observer.look()

        assert (await world.job(77)).state is JobState.LOST

    run(story())


def test_nothing_is_concluded_from_silence(store: Store) -> None:
    async def story() -> None:
        world = World(store)
        world.slurm.move(id := await world.submitted_past_us(), JobState.RUNNING)
        await world.observer.look()
        seen_at = world.site.sky.seen_at
        world.slurm.reachable = False
        world.clock.advance(timedelta(hours=5))

        with pytest.raises(Unreachable):
            await world.observer.look()

        assert (await world.job(id)).state is JobState.RUNNING
        assert world.site.sky.seen_at == seen_at
        assert world.site.sky.why_not == "Slurm cannot be reached."

        world.slurm.reachable = True
        await world.observer.look()
        assert world.site.sky.why_not == ""

    run(story())


def test_a_requeued_job_stays_one_job(store: Store) -> None:
    async def story() -> None:
        world = World(store)
        id = await world.submitted_past_us()
        world.slurm.move(id, JobState.RUNNING)
        await world.observer.look()
        world.clock.advance(timedelta(minutes=3))
        await world.slurm.requeue(id, user=None)

        await world.observer.look()

        assert await store.count(LAB, Query()) == 1
        assert (await world.job(id)).restarts == 1

    run(story())


def test_a_reused_id_is_another_job(store: Store) -> None:
    async def story() -> None:
        world = World(store)
        old = a_job(1, state=JobState.COMPLETED, name="old")
        await store.commit(LAB, Change(jobs=[old]))
        world.clock.advance(timedelta(days=300))
        await world.submitted_past_us(name="new")

        await world.observer.look()

        assert await store.count(LAB, Query()) == 2
        assert (await world.job(1)).name == "new"

    run(story())


def test_the_budget_is_honoured_and_states_stay_right_without_it(store: Store) -> None:
    async def story() -> None:
        world = World(store, calls_per_minute=12)
        ids = [await world.submitted_past_us() for _ in range(40)]
        await world.observer.look()
        for id in ids:
            world.slurm.move(id, JobState.RUNNING)
        world.slurm.asked.clear()

        await world.observer.look()

        assert world.slurm.asked.total() <= 12
        assert await store.tally(LAB) == {"RUNNING": 40}
        without_details = [id for id in ids if not (await world.job(id)).nodes]
        assert without_details

        for _ in range(8):
            world.clock.advance(timedelta(minutes=1))
            await world.observer.look()
        assert all([(await world.job(id)).nodes for id in ids])

    run(story())


def test_what_became_of_its_last_task_is_not_what_became_of_all_that_an_array_waits_for(
    store: Store,
) -> None:
    async def story() -> None:
        world = World(store, calls_per_minute=12)
        arrays = [await world.submitted_past_us(array="1-3") for _ in range(40)]
        await world.observer.look()
        for id in arrays:
            # The last task to start has the id of the array; which one it is, its details say.
            world.slurm.move(id, JobState.RUNNING, array_task=3, array_waiting="")

        await world.observer.look()

        known = [await world.job(id) for id in arrays]
        unread = [job for job in known if job.array_task is None]
        assert unread
        assert {job.state for job in unread} == {JobState.PENDING}

        for _ in range(8):
            world.clock.advance(timedelta(minutes=1))
            await world.observer.look()
        assert {(await world.job(id)).state for id in arrays} == {JobState.RUNNING}

    run(story())


def test_a_great_change_in_a_long_queue_is_read_as_one_list(store: Store) -> None:
    async def story() -> None:
        world = World(store)
        await world.observer.look()
        for _ in range(400):
            await world.submitted_past_us()
        world.slurm.asked.clear()

        await world.observer.look()

        assert world.slurm.asked["all_jobs"] == 1
        assert world.slurm.asked["job"] == 0
        assert await store.count(LAB, Query()) == 400

    run(story())


def test_a_long_queue_is_compared_in_parts_and_everybody_has_a_turn_between_them() -> None:
    async def story() -> None:
        before = dict.fromkeys(range(1, 3 * PART), "PENDING")
        after = {**before, 7: "RUNNING", 3 * PART - 2: "COMPLETED", 9 * PART: "PENDING"}
        del after[8], after[2 * PART]
        turns = 0

        async def somebody() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        other = asyncio.create_task(somebody())
        changed, left = await compare(before, after)
        other.cancel()

        assert changed == {7, 3 * PART - 2, 9 * PART}
        assert left == {8, 2 * PART}
        assert turns >= 6
        assert await compare(after, dict(after)) == (set(), set())

    run(story())


def test_nodes_are_looked_at_now_and_then(store: Store) -> None:
    async def story() -> None:
        world = World(store)
        await world.observer.look()
        await world.observer.look()
        assert world.slurm.asked["nodes"] == 1
        world.clock.advance(NODES_EVERY)
        await world.observer.look()

        assert world.slurm.asked["nodes"] == 2
        assert isinstance(world.site.sky.nodes, Seen)
        assert [node.name for node in world.site.sky.nodes.value] == ["w1"]

    run(story())


def test_a_job_that_ended_before_the_restart_is_found_ended(store: Store) -> None:
    async def story() -> None:
        before = World(store)
        id = await before.submitted_past_us()
        await before.observer.look()
        before.slurm.move(id, JobState.COMPLETED)
        before.slurm.forget(id)

        after = World(store)
        after.slurm = before.slurm
        after.site.slurm = before.slurm
        await after.observer.look()

        assert (await after.job(id)).state is JobState.COMPLETED
        assert replace(await after.job(id), ended_at=None).id == id

    run(story())

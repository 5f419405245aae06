"""Promises of every Slurm about the runs of a job, on which its bill stands."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from clusterra.core.cost.bill import stretches
from clusterra.core.jobs.job import Job, JobState
from tests.builders import a_job
from tests.contracts.test_slurm import LONG, QUICK, UNKNOWN, World, accounted, run, world

__all__ = ["world"]


async def suspended(world: World, job: Job) -> Job:
    if world.memory:
        world.memory.move(job.id, JobState.SUSPENDED)
    else:
        world.command("scontrol", "suspend", str(job.id))
    return await world.seen(job.id, lambda now: now.state is JobState.SUSPENDED)


async def resumed(world: World, job: Job) -> Job:
    if world.memory:
        world.memory.move(job.id, JobState.RUNNING)
    else:
        world.command("scontrol", "resume", str(job.id))
    return await world.seen(job.id, lambda now: now.state is JobState.RUNNING)


async def requeued(world: World, job: Job) -> Job:
    if world.memory:
        await world.slurm.requeue(job.id, user=None)
    else:
        world.command("scontrol", "requeue", str(job.id))  # 24.11 has it nowhere else
    return await waiting_again(world, job)


async def waiting_again(world: World, job: Job) -> Job:
    """Return a job once it waits and the run before is cleared away: then it is submitted anew."""
    return await world.seen(
        job.id,
        lambda now: now.state is JobState.PENDING and not now.flags and now.restarts > job.restarts,
    )


async def cancelled(world: World, job: Job) -> Job:
    await world.slurm.cancel(job.id, user=None)
    return await world.seen(job.id, lambda now: now.state.ended and not now.flags)


async def earlier(world: World, id: int, count: int) -> list[Job]:
    """Return the runs before once accounting, which is a moment behind, has so many."""
    for _ in range(200):
        runs = list(await world.slurm.earlier_runs(id))
        if len(runs) == count:
            return runs
        await asyncio.sleep(0.05)
    raise TimeoutError(runs)


def paid_seconds(run: Job) -> float:
    assert run.ended_at is not None
    parts = stretches(run, run.ended_at)
    return sum((part.until - part.since).total_seconds() for part in parts)


def seconds_between(one: Job, other: Job) -> float:
    assert one.paused_at is not None
    assert other.paused_at is not None
    return (other.paused_at - one.paused_at).total_seconds()


def test_time_in_suspension_is_told_apart_from_time_running(world: World) -> None:
    async def story() -> None:
        job = await world.started(await world.submit(LONG))
        assert (job.suspended_seconds, job.paused_at) == (0, None)

        await world.passes(2)
        first = await suspended(world, job)
        await world.passes(2)
        back = await resumed(world, job)
        await world.passes(1)
        second = await suspended(world, job)
        await world.passes(2)
        again = await resumed(world, job)
        await world.passes(1)
        ended = await cancelled(world, job)

        assert first.suspended_seconds == 0
        assert back.suspended_seconds == second.suspended_seconds == seconds_between(first, back)
        both = seconds_between(first, back) + seconds_between(second, again)
        assert ended.suspended_seconds == again.suspended_seconds == both >= 3
        kept = await accounted(world, job.id)
        assert (kept.suspended_seconds, kept.paused_at) == (both, None)
        assert ended.started_at is not None
        assert ended.ended_at is not None
        whole = (ended.ended_at - ended.started_at).total_seconds()
        assert paid_seconds(ended) == paid_seconds(kept) == whole - both >= 3

    run(world, story)


def test_a_job_that_is_ended_in_suspension_ended_when_that_began(world: World) -> None:
    async def story() -> None:
        job = await world.started(await world.submit(LONG))
        await world.passes(2)
        stopped = await suspended(world, job)
        await world.passes(2)

        ended = await cancelled(world, job)

        assert ended.ended_at == stopped.paused_at
        assert ended.suspended_seconds == 0
        kept = await accounted(world, job.id)
        assert (kept.ended_at, kept.suspended_seconds) == (ended.ended_at, 0)
        assert paid_seconds(ended) == paid_seconds(kept) >= 1

    run(world, story)


def test_accounting_keeps_each_run_that_ended_because_its_job_was_queued_again(
    world: World,
) -> None:
    async def story() -> None:
        job = await world.started(await world.submit(LONG))
        await world.passes(1)
        await suspended(world, job)
        await world.passes(2)
        first = await resumed(world, job)
        await world.passes(1)

        waiting = await requeued(world, job)

        assert (waiting.suspended_seconds, waiting.paused_at, waiting.started_at) == (0, None, None)
        [before] = await earlier(world, job.id, 1)
        assert (before.restarts, before.state) == (0, JobState.PENDING)
        assert before.started_at == job.started_at
        assert before.ended_at is not None
        assert before.ended_at <= waiting.submitted_at
        assert (before.nodes, before.cpus, before.memory_mib) == (job.nodes, 1, 100)
        assert before.suspended_seconds == first.suspended_seconds > 0
        [newest] = await world.slurm.accounted([job.id])
        assert (newest.restarts, newest.started_at) == (1, None)

    run(world, story)


def test_a_run_that_lost_its_node_is_one_of_them(world: World) -> None:
    async def story() -> None:
        job = await world.started(await world.submit(LONG))
        await world.passes(1)

        await world.slurm.mark_down(job.nodes, "clusterra: a test")
        waiting = await waiting_again(world, job)

        [before] = await earlier(world, job.id, 1)
        assert (before.restarts, before.state) == (0, JobState.PENDING)
        assert (before.nodes, before.started_at) == (job.nodes, job.started_at)
        assert before.ended_at is not None
        assert before.ended_at <= waiting.submitted_at
        await cancelled(world, waiting)
        [still] = await earlier(world, job.id, 1)
        assert still == before
        past = [
            each
            async for each in world.slurm.history(
                job.submitted_at - timedelta(hours=1), world.clock.now() + timedelta(hours=1)
            )
            if each.id == job.id
        ]
        assert [each.restarts for each in past] == [1]

    run(world, story)


def test_a_job_that_was_never_queued_again_has_no_run_before(world: World) -> None:
    async def story() -> None:
        ended = await world.ended(await world.submit(QUICK))
        await accounted(world, ended.id)

        assert list(await world.slurm.earlier_runs(ended.id)) == []
        assert list(await world.slurm.earlier_runs(UNKNOWN)) == []

    run(world, story)


def test_a_job_that_lost_a_node_says_when_and_is_the_same_job_to_accounting(world: World) -> None:
    async def story() -> None:
        job = await world.started(await world.submit(LONG, minimum_nodes=2, tasks=2))
        assert job.resized_at is None
        await world.passes(2)

        if world.memory:
            world.memory.resize(job.id, "w1", cpus=1)
        else:
            world.command("scontrol", "update", f"jobid={job.id}", "numnodes=1")
        fewer = await world.seen(job.id, lambda now: now.resized_at is not None)
        await world.passes(1)
        ended = await cancelled(world, job)

        assert fewer.resized_at is not None
        assert job.started_at is not None
        assert fewer.resized_at > job.started_at
        assert (fewer.started_at, fewer.submitted_at) == (job.started_at, job.submitted_at)
        assert fewer.cpus == 1
        kept = await accounted(world, job.id)
        for fact in ("submitted_at", "started_at", "resized_at", "ended_at", "nodes", "cpus"):
            assert getattr(kept, fact) == getattr(ended, fact), fact

    run(world, story)


def shown(world: World, job: Job) -> str:
    """Return what Slurm's own tools show as a job's comment by an admin."""
    if world.memory:
        return world.memory.stamps.get(job.id, "")
    if job.state.ended:
        words = ("--allocations", "--noheader", "--parsable2", "--format=admincomment")
        return world.command("sacct", f"--jobs={job.label}", *words)
    lines = world.command("scontrol", "show", "job", str(job.id)).splitlines()
    return next((line.partition("=")[2].strip() for line in lines if "AdminComment=" in line), "")


async def stamped(world: World, job: Job, text: str, *, now: Job) -> str:
    """Stamp a job, and return what is shown: not what the control plane of a real one wrote there.

    It writes when a job starts and when it ends, and may do so between these two.
    """
    for _ in range(100):
        assert await world.slurm.stamp(job, text)
        line = shown(world, now)
        if not line.startswith("clusterra:"):
            return line
        await asyncio.sleep(0.05)
    raise TimeoutError(line)


def test_a_stamp_is_shown_by_slurms_own_tools_and_replaced_by_the_next(world: World) -> None:
    async def story() -> None:
        job = await world.started(await world.submit(LONG))

        text = "costs '$0.19' an hour · so far"
        assert await stamped(world, job, text, now=job) == text

        line = await stamped(world, job, "cost\n\x1b[31m" + "$" * 400, now=job)
        assert line.startswith("cost  [31m$$$")
        assert len(line) == 256

    run(world, story)


def test_a_job_that_has_ended_is_stamped_where_slurm_can_and_otherwise_says_no(
    world: World,
) -> None:
    async def story() -> None:
        job = await world.started(await world.submit(LONG))
        ended = await cancelled(world, job)
        await accounted(world, job.id)
        can = (await world.slurm.about()).api_version >= "v0.0.44"

        for text, known in (("cost $0.02", job), ("cost $0.03", ended)):
            if can:
                assert await stamped(world, known, text, now=ended) == text
            else:
                assert not await world.slurm.stamp(known, text)
                assert shown(world, ended) != text

    run(world, story)


@pytest.mark.parametrize("state", [JobState.RUNNING, JobState.COMPLETED])
def test_a_job_that_slurm_does_not_know_cannot_be_stamped(world: World, state: JobState) -> None:
    async def story() -> None:
        assert not await world.slurm.stamp(a_job(UNKNOWN, state=state), "cost $0.02")

    run(world, story)


def test_a_stamp_on_one_task_of_an_array_is_on_no_other(world: World) -> None:
    async def story() -> None:
        array = await world.submit(QUICK, array="0-1")
        if world.memory:
            first = replace(array, array_task=0, array_waiting="", state=JobState.FAILED)
            assert await world.slurm.stamp(first, "cost $0.02")
            assert world.memory.stamps == {first.id: "cost $0.02"}
            return
        tasks = await ended_tasks(world, array)
        can = (await world.slurm.about()).api_version >= "v0.0.44"

        # Slurm gives the id of the array to the last of its tasks.
        last = next(task for task in tasks if task.id == array.id)
        if can:
            assert await stamped(world, last, "cost $0.02", now=last) == "cost $0.02"
        else:
            assert not await world.slurm.stamp(last, "cost $0.02")
        assert "cost $0.02" not in [shown(world, task) for task in tasks if task is not last]

    run(world, story)


async def ended_tasks(world: World, array: Job) -> list[Job]:
    for _ in range(400):
        tasks = [job for job in await world.slurm.accounted([array.id]) if job.state.ended]
        if len(tasks) == 2:
            return tasks
        await asyncio.sleep(0.05)
    raise TimeoutError(tasks)

"""Intent, act, confirm: what a submission survives."""

import asyncio
import hashlib
from datetime import timedelta

import pytest

from clusterra.adapters.memory import MemoryStore
from clusterra.control.find import find_job
from clusterra.control.submit import SUBMISSION, Outcome, Submission, Submitted, Submitter
from clusterra.core.access import Caller
from clusterra.core.change import Change
from clusterra.core.errors import Conflict, Refused, Unanswered, Unreachable
from clusterra.core.jobs import comment
from clusterra.core.jobs.fit import Largest
from clusterra.core.jobs.job import JobState
from clusterra.core.jobs.request import JobRequest
from clusterra.ports import Login, Store
from tests.builders import NOON, a_job
from tests.world import LAB, World

ANA = Caller(user="ana")
ANAS_K = hashlib.sha256(f"{LAB}\nana\nk".encode()).hexdigest()
"""The record of what ana submitted with the key `k`."""


def submitter(world: World) -> Submitter:
    names = iter(f"run-{n}" for n in range(1, 100))
    return Submitter(
        site=world.site, store=world.store, clock=world.clock, new_run_id=lambda: next(names)
    )


async def send(
    made: Submitter,
    *,
    key: str = "",
    body: bytes = b"{}",
    caller: Caller = ANA,
    **properties: object,
) -> Submitted:
    def compose(login: Login, run_id: str) -> JobRequest:
        asked = {
            "current_working_directory": login.home,
            "comment": comment.stamp(comment.Mark(run_id=run_id)),
        }
        return JobRequest(script="#!/bin/sh\n", properties=asked | properties)

    done = await made.submit(compose, caller, body=body, key=key)
    await made.settle()
    return done


async def recorded(store: Store, id: str) -> tuple[int, Outcome, int]:
    """Return how often a submission was recorded, and what it came to."""
    nothing = Submission(run_id="", user="", fingerprint="", at=NOON, outcome=Outcome.REFUSED)
    record = await store.get(SUBMISSION, id, nothing)
    return record.version, record.value.outcome, record.value.job_id


def test_a_submission_with_a_key_is_recorded_before_and_after_slurm_is_asked(store: Store) -> None:
    async def story() -> None:
        world = World(store)

        await send(submitter(world), key="k")
        assert await recorded(store, ANAS_K) == (2, Outcome.ACCEPTED, 1)

        world = World(MemoryStore())
        world.slurm.loses_answers = True
        with pytest.raises(Unanswered):
            await send(submitter(world), key="k")
        assert await recorded(world.store, ANAS_K) == (1, Outcome.INTENDED, 0)

    asyncio.run(story())


def test_a_submission_without_a_key_is_recorded_once_it_is_known_what_it_came_to(
    store: Store,
) -> None:
    async def story() -> None:
        world = World(store)
        made = submitter(world)

        done = await send(made)
        world.slurm.loses_answers = True
        with pytest.raises(Unanswered):
            await send(made)
        world.slurm.reachable = False
        with pytest.raises(Unreachable):
            await send(made)
        await made.settle()

        assert done.submission.run_id == "run-1"
        assert await recorded(store, "run-1") == (1, Outcome.ACCEPTED, 1)
        assert await recorded(store, "run-2") == (1, Outcome.INTENDED, 0)
        assert await recorded(store, "run-3") == (1, Outcome.REFUSED, 0)

    asyncio.run(story())


def test_the_first_job_of_a_person_is_theirs_and_wakes_the_observer(store: Store) -> None:
    async def story() -> None:
        world = World(store)

        await send(submitter(world))

        assert world.slurm.enrolled == {("ana", "lab")}
        assert world.woken == 1
        [job] = await world.slurm.job(1)
        assert (job.user, job.run_id, job.work_dir) == ("ana", "run-1", "/home/ana")

    asyncio.run(story())


def test_a_number_that_slurm_gives_again_stands_for_the_job_just_submitted(store: Store) -> None:
    async def story() -> None:
        world = World(store)
        await world.observer.look()
        old = a_job(1, state=JobState.COMPLETED, name="old", run_id="of-last-year")
        await store.commit(LAB, Change(jobs=[old]))
        world.clock.advance(timedelta(days=300))

        done = await send(submitter(world))

        found = await find_job(world.site, "1", ANA, store=store)
        assert found.run_id == done.submission.run_id
        assert found.state is JobState.PENDING

    asyncio.run(story())


def test_a_person_is_enrolled_once(store: Store) -> None:
    async def story() -> None:
        world = World(store)
        made = submitter(world)
        await send(made)
        await send(made)

        assert world.slurm.asked["enroll"] == 1

    asyncio.run(story())


def test_a_person_just_enrolled_is_not_refused_while_the_controller_has_not_heard_of_them(
    store: Store,
) -> None:
    async def story() -> None:
        world = World(store)
        made = submitter(world)
        world.slurm.hears_after = 3

        done = await send(made)

        assert done.submission.job_id == 1
        assert world.slurm.asked["submit"] == 4
        world.slurm.hears_after = 1
        world.clock.advance(timedelta(minutes=1))
        with pytest.raises(Refused):
            await send(made)

    asyncio.run(story())


def test_a_repeated_key_answers_what_the_first_request_came_to(store: Store) -> None:
    async def story() -> None:
        world = World(store)
        made = submitter(world)
        first, at_once = await asyncio.gather(send(made, key="k"), send(made, key="k"))
        later = await send(made, key="k")

        assert {each.submission.job_id for each in (first, at_once, later)} == {1}
        assert [first.repeated, at_once.repeated, later.repeated] == [False, True, True]
        assert world.slurm.asked["submit"] == 1

    asyncio.run(story())


def test_a_key_belongs_to_one_request_of_one_person(store: Store) -> None:
    async def story() -> None:
        made = submitter(World(store))
        await send(made, key="k")

        with pytest.raises(Conflict, match="'k' was used for another request"):
            await send(made, key="k", body=b'{"other": 1}')
        bens = await send(made, key="k", caller=Caller(user="ben"))
        assert bens.submission.job_id == 2

    asyncio.run(story())


def test_a_lost_answer_is_found_again_and_no_second_job_made(store: Store) -> None:
    async def story() -> None:
        world = World(store)
        world.slurm.loses_answers = True
        with pytest.raises(Unanswered):
            await send(submitter(world), key="k")
        world.slurm.loses_answers = False
        world.clock.advance(timedelta(minutes=1))

        # A new process: nothing is remembered but what is in the store.
        done = await send(submitter(world), key="k")

        assert (done.submission.job_id, done.repeated) == (1, True)
        assert world.slurm.asked["submit"] == 1

    asyncio.run(story())


def test_a_request_that_never_reached_slurm_is_made_again(store: Store) -> None:
    async def story() -> None:
        world = World(store)
        made = submitter(world)
        world.slurm.reachable = False
        world.site.enrolled["ana"] = world.clock.now()
        with pytest.raises(Unreachable):
            await send(made, key="k")
        world.slurm.reachable = True

        done = await send(made, key="k")

        assert (done.submission.job_id, done.repeated) == (1, False)

    asyncio.run(story())


def test_what_was_refused_may_be_mended_and_sent_again_with_the_same_key(store: Store) -> None:
    async def story() -> None:
        world = World(store)
        made = submitter(world)
        with pytest.raises(Refused, match="There is no partition gpu"):
            await send(made, key="k", partition="gpu")

        done = await send(made, key="k", body=b'{"mended": 1}')

        assert done.submission.job_id == 1

    asyncio.run(story())


def test_an_unknown_partition_is_refused_with_the_known_ones_and_slurm_is_not_asked(
    store: Store,
) -> None:
    async def story() -> None:
        world = World(store)
        await world.observer.look()

        with pytest.raises(Refused, match="There is no partition gpu on lab") as caught:
            await send(submitter(world), partition="gpu")

        assert caught.value.hint == "The partitions are: main."
        assert world.slurm.asked["submit"] == 0

    asyncio.run(story())


def test_a_job_that_no_node_can_ever_hold_is_refused(store: Store) -> None:
    async def story() -> None:
        world = World(store)
        world.site.largest = Largest(cpus=64, memory_mib=1000)

        with pytest.raises(Refused, match="10,000 CPUs"):
            await send(submitter(world), cpus_per_task=10_000)

    asyncio.run(story())


def test_nobody_submits_as_root(store: Store) -> None:
    async def story() -> None:
        with pytest.raises(Refused, match="Nobody submits jobs as root"):
            await send(submitter(World(store)), caller=Caller(user="root"))

    asyncio.run(story())

"""What is looked up to say why a job failed, for whom, and what they may submit again."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from clusterra.control.diagnosis import diagnose, diagnose_job
from clusterra.control.evict import TAKEN_BACK
from clusterra.control.plane import Plane
from clusterra.core.access import Caller, Role
from clusterra.core.change import Change
from clusterra.core.errors import Forbidden, NotFound
from clusterra.core.events.catalogue.jobs import JobCancelled
from clusterra.core.events.catalogue.nodes import NodeDown, NodeSpotInterrupted, NodeTerminated
from clusterra.core.events.event import Draft
from clusterra.core.events.fact import Fact
from clusterra.core.jobs.compose import JobWish, compose
from clusterra.core.jobs.diagnosis import Cause, Diagnosis
from clusterra.core.jobs.job import Job, JobState
from clusterra.core.jobs.request import JobRequest
from clusterra.ports import Login
from tests.world import LAB, World

ANA, BEN = Caller(user="ana"), Caller(user="ben")
ADMIN = Caller(user="root", role=Role.ADMIN)
OOM = b"merging\nslurmstepd: error: Detected 1 oom_kill event in StepId=1.batch.\n"


class Here:
    """A world with one job of ana's, submitted through us, that has ended."""

    def __init__(self) -> None:
        self.world = World()
        self.plane: Plane = self.world.plane()
        self.job: Job

    async def ended(self, state: JobState = JobState.FAILED, **facts: Any) -> Job:
        await self.submitted(memory="1G", time="1h")
        return await self.ends(state, **facts)

    async def submitted(self, caller: Caller = ANA, **wish: Any) -> int:
        def made(login: Login, run_id: str) -> JobRequest:
            asked = JobWish(script="#!/bin/sh\ntrue\n", **wish)
            now = self.world.clock.now()
            return compose(asked, home=login.home, user=login.name, run_id=run_id, now=now)

        submitter = self.plane.submitters[LAB]
        done = await submitter.submit(made, caller, body=b"")
        await submitter.settle()
        return done.submission.job_id

    async def ends(self, state: JobState, id: int = 1, **facts: Any) -> Job:
        self.world.slurm.move(id, JobState.RUNNING)
        self.world.clock.advance(timedelta(minutes=2))
        self.world.slurm.move(id, state, **facts)
        await self.world.observer.look()
        self.job = await self.world.job(id)
        return self.job

    async def told(self, fact: Fact, *, subject: str, minutes: float = 0, by: str = "x") -> None:
        at = self.world.clock.now() + timedelta(minutes=minutes)
        id = f"{fact.type}-{subject}-{minutes}"
        event = Draft(id=id, fact=fact, at=at, actor=by, subject=subject)
        await self.world.store.commit(LAB, Change(events=[event]))

    async def diagnosis(self, caller: Caller | None = ANA) -> Diagnosis:
        return await diagnose(
            self.world.site,
            self.job,
            caller,
            store=self.world.store,
            requests=self.plane.requests,
            clock=self.world.clock,
        )

    async def asked(self, label: str, caller: Caller) -> Diagnosis:
        return await diagnose_job(
            self.world.site,
            label,
            caller,
            store=self.world.store,
            requests=self.plane.requests,
            clock=self.world.clock,
        )


def tell(story: Callable[[Here], Awaitable[None]]) -> None:
    async def whole() -> None:
        await story(Here())

    asyncio.run(whole())


def test_output_and_accounting_say_why_and_the_fix_is_ready_to_be_submitted() -> None:
    async def story(here: Here) -> None:
        here.world.logs.written[1] = OOM
        here.world.slurm.peaks[1] = 1010
        await here.ended(JobState.FAILED, signal=9)

        found = await here.diagnosis()

        assert found.cause is Cause.OUT_OF_MEMORY
        assert found.summary == (
            "Ran out of memory after 2m 00s: it asked for 1 GiB and reached 1010 MiB."
        )
        assert found.last_lines[0] == "merging"
        assert found.changes == ("memory: 1 GiB → 1.5 GiB",)
        assert found.resubmit is not None
        assert found.resubmit.properties["memory_per_node"] == {"set": True, "number": 1536}

    tell(story)


def test_what_is_submitted_again_runs_with_the_fix() -> None:
    async def story(here: Here) -> None:
        await here.ended(JobState.TIMEOUT)
        found = await here.diagnosis()
        assert found.resubmit is not None

        accepted = await here.world.slurm.submit(found.resubmit, user="ana")

        (job,) = await here.world.slurm.job(accepted.job_id)
        assert (job.time_limit_minutes, job.memory_mib) == (120, 1024)

    tell(story)


def test_a_guess_that_needs_no_fix_can_be_submitted_as_it_was() -> None:
    async def story(here: Here) -> None:
        await here.ended(JobState.FAILED, exit_code=7)

        found = await here.diagnosis()

        assert found.cause is Cause.EXIT_CODE
        assert found.changes == ()
        assert found.resubmit is not None

    tell(story)


def test_without_a_caller_nothing_that_it_wrote_is_repeated_and_nothing_given_away() -> None:
    async def story(here: Here) -> None:
        here.world.logs.written[1] = b"line 2: secret-tool: command not found\n"
        await here.ended(JobState.FAILED, exit_code=127)

        found = await here.diagnosis(None)

        assert found.cause is Cause.COMMAND_NOT_FOUND
        assert "secret" not in repr(found)
        assert (found.last_lines, found.resubmit) == ((), None)

    tell(story)


def test_an_admin_reads_why_and_is_not_handed_what_somebody_else_submitted() -> None:
    async def story(here: Here) -> None:
        await here.ended(JobState.TIMEOUT)

        found = await here.asked("1", ADMIN)

        assert found.cause is Cause.TIMEOUT
        assert found.resubmit is None
        assert found.why_not == "It belongs to ana, and a job runs as whoever submits it."
        assert found.changes == ("time limit: 1 h → 2 h",)

    tell(story)


def test_others_are_refused() -> None:
    async def story(here: Here) -> None:
        await here.ended(JobState.TIMEOUT)

        with pytest.raises(Forbidden):
            await here.asked("1", BEN)
        with pytest.raises(NotFound):
            await here.asked("99", BEN)

    tell(story)


@pytest.mark.parametrize(
    ("minutes", "cause"),
    [
        (-11, Cause.NODE_FAILED),
        (-9, Cause.SPOT_INTERRUPTED),
        (4, Cause.SPOT_INTERRUPTED),
        (6, Cause.NODE_FAILED),
    ],
)
def test_a_spot_notice_counts_around_the_end_only(minutes: float, cause: Cause) -> None:
    async def story(here: Here) -> None:
        job = await here.ended(JobState.NODE_FAIL)
        notice = NodeSpotInterrupted(node=job.nodes, action="terminate")
        await here.told(notice, subject=f"node/{job.nodes}", minutes=minutes)

        found = await here.diagnosis()

        assert found.cause is cause
        assert bool(found.node_events) is (cause is Cause.SPOT_INTERRUPTED)

    tell(story)


def test_a_node_that_we_gave_up_for_the_cloud_was_taken_back() -> None:
    async def story(here: Here) -> None:
        job = await here.ended(JobState.NODE_FAIL)
        down = NodeDown(node=job.nodes, reason=TAKEN_BACK)
        await here.told(down, subject=f"node/{job.nodes}")

        assert (await here.diagnosis()).cause is Cause.SPOT_INTERRUPTED

    tell(story)


def test_what_happens_to_other_nodes_is_none_of_its_business() -> None:
    async def story(here: Here) -> None:
        await here.ended(JobState.NODE_FAIL)
        await here.told(NodeDown(node="elsewhere"), subject="node/elsewhere")

        assert (await here.diagnosis()).node_events == ()

    tell(story)


def test_a_worker_that_leaves_after_its_job_is_no_evidence() -> None:
    async def story(here: Here) -> None:
        job = await here.ended(JobState.FAILED, exit_code=7)
        gone = NodeTerminated(node=job.nodes)
        await here.told(gone, subject=f"node/{job.nodes}", minutes=1)
        assert (await here.diagnosis()).node_events == ()

        await here.told(gone, subject=f"node/{job.nodes}", minutes=-0.1)
        assert len((await here.diagnosis()).node_events) == 1

    tell(story)


def test_whoever_cancelled_it_is_named() -> None:
    async def story(here: Here) -> None:
        await here.ended(JobState.CANCELLED)
        cancelled = JobCancelled(job_id=1, why="over its quota")
        await here.told(cancelled, subject="job/1", minutes=1, by="system:quota")

        found = await here.diagnosis()

        assert (found.cause, found.summary) == (
            Cause.QUOTA,
            "It was cancelled after 2m 00s by a quota: over its quota.",
        )

    tell(story)


def test_what_cannot_be_seen_is_left_out() -> None:
    async def story(here: Here) -> None:
        await here.ended(JobState.OUT_OF_MEMORY)
        here.world.slurm.reachable = False

        found = await here.diagnosis()

        assert found.cause is Cause.OUT_OF_MEMORY
        assert found.memory_used_mib is None

    tell(story)


def test_a_burst_of_failures_asks_slurm_no_more_than_it_can_bear() -> None:
    async def story(here: Here) -> None:
        await here.ended(JobState.OUT_OF_MEMORY)
        here.world.site.budget.per_minute = 0

        await here.diagnosis(None)
        assert here.world.slurm.asked["peak_memory_mib"] == 0

        await here.diagnosis(ANA)
        assert here.world.slurm.asked["peak_memory_mib"] == 1

    tell(story)


def test_a_job_that_was_submitted_past_us_is_explained_and_cannot_be_submitted_again() -> None:
    async def story(here: Here) -> None:
        id = await here.world.submitted_past_us()
        await here.ends(JobState.OUT_OF_MEMORY, id)

        found = await here.diagnosis()

        assert found.cause is Cause.OUT_OF_MEMORY
        assert found.resubmit is None
        assert "submitted past Clusterra" in found.why_not

    tell(story)


def test_what_is_no_longer_kept_cannot_be_submitted_again() -> None:
    async def story(here: Here) -> None:
        await here.ended(JobState.TIMEOUT)
        here.world.clock.advance(timedelta(days=31))
        while await here.plane.requests.tidy():
            pass

        assert "no longer kept" in (await here.diagnosis()).why_not

    tell(story)


def test_a_job_that_runs_is_answered_too() -> None:
    async def story(here: Here) -> None:
        await here.submitted()
        here.world.slurm.move(1, JobState.RUNNING)
        await here.world.observer.look()

        found = await here.asked("1", ANA)

        assert (found.cause, found.summary) == (Cause.NONE, "It is still running.")
        assert found.why_not == "It has not ended."

    tell(story)

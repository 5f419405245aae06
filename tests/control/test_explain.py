"""Explaining a job: what is asked of Slurm for it, what is kept, who may know what."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from clusterra.control.explain import Explained, explain_job
from clusterra.core.access import Caller, OthersJobs
from clusterra.core.errors import NotFound
from clusterra.core.jobs.forecast import FORECASTS, Forecasts
from clusterra.core.jobs.job import JobState
from clusterra.core.jobs.pending.why import Kind, Source
from clusterra.core.limits import Holder, Licence, Limits, Measure, Per
from clusterra.core.scaling.demand import Demand
from clusterra.core.scaling.fleet import Fleet, Phase, Worker
from clusterra.core.scaling.plan import Cause, Plan, Wait
from clusterra.core.scaling.planned import Planned
from clusterra.core.scaling.policy import Policy
from clusterra.core.seen import Seen, Unseen
from tests.core.pending.facts import LARGE, limit
from tests.world import World

ANA = Caller(user="ana")


async def why(world: World, id: int, caller: Caller = ANA) -> Explained:
    return await explain_job(world.site, str(id), caller, store=world.store, clock=world.clock)


async def waiting(world: World, reason: str, **more: object) -> int:
    id = await world.submitted_past_us(account="lab")
    world.slurm.move(id, JobState.PENDING, reason=reason, **more)
    await world.observer.look()
    return id


def test_the_reason_is_asked_for_afresh() -> None:
    async def story() -> None:
        world = World()
        id = await waiting(world, "Priority")
        world.slurm.move(id, JobState.PENDING, reason="JobHeldAdmin")

        assert (await why(world, id)).why.kind is Kind.HELD
        assert (await world.job(id)).reason == "JobHeldAdmin"

    asyncio.run(story())


def test_slurm_is_asked_for_limits_and_licences_only_where_they_matter() -> None:
    async def story() -> None:
        world = World()
        await why(world, await waiting(world, "Dependency"))
        assert not world.slurm.asked.keys() & {"limits", "licences", "reservations"}

        await why(world, await waiting(world, "AssocGrpCpuLimit"))
        assert world.slurm.asked["limits"] == 1
        assert not world.slurm.asked.keys() & {"licences", "reservations"}

    asyncio.run(story())


def test_a_limit_is_told_with_what_runs_under_it() -> None:
    async def story() -> None:
        world = World()
        other = await world.submitted_past_us(user="ben", account="lab")
        world.slurm.move(other, JobState.RUNNING, cpus=3)
        world.slurm.limited = Limits(
            rows=(
                limit(Holder.ASSOCIATION, Per.GROUP, Measure.AT_ONCE, 3, resource="cpu", of="lab"),
            ),
            parents={"lab": ""},
        )
        found = await why(world, await waiting(world, "AssocGrpCpuLimit"))

        assert "Account lab allows 3 CPUs" in found.why.summary
        assert "3 CPUs in use" in found.why.summary
        rows = {row.kind for link in found.why.chain for row in link.evidence}
        assert {Source.LIMIT, Source.JOB} <= rows

    asyncio.run(story())


def test_while_slurm_cannot_be_asked_the_last_known_reason_is_given_as_such() -> None:
    async def story() -> None:
        world = World()
        id = await waiting(world, "Licenses", licenses="matlab")
        world.slurm.licensed = (Licence(name="matlab", total=1, used=1),)
        world.slurm.reachable = False

        found = await why(world, id)

        assert found.why.kind is Kind.LICENCE
        assert found.why.summary.startswith("As last seen")
        assert any("Slurm cannot be reached" in each for each in found.why.unseen)

    asyncio.run(story())


def test_who_held_it_through_us_is_named_with_the_row_of_the_ledger() -> None:
    async def story() -> None:
        world = World()
        id = await waiting(world, "Priority")
        job = await world.job(id)
        eva = Caller(user="eva", email="eva@lab.example")
        await world.site.recorder.acts.note([job], "held", eva)
        world.slurm.move(id, JobState.PENDING, reason="JobHeldUser")

        found = await why(world, id)

        assert "eva@lab.example" in found.why.summary
        (row,) = [each for each in found.why.chain[0].evidence if each.kind is Source.EVENT]
        assert row.says["type"] == "job.held"
        assert isinstance(row.says["seq"], int)

    asyncio.run(story())


def test_its_place_in_the_queue_is_by_priority_then_by_age() -> None:
    async def story() -> None:
        world = World()
        await waiting(world, "JobHeldUser", priority=0)
        await waiting(world, "Dependency", priority=9)
        await waiting(world, "Priority", priority=5)
        await waiting(world, "Priority", priority=1)
        mine = await waiting(world, "Priority", priority=1)
        await waiting(world, "Priority", priority=1)

        found = await why(world, mine)

        assert "2 of 4 are ahead of it" in found.why.summary

    asyncio.run(story())


def test_the_planners_words_are_passed_on() -> None:
    async def story() -> None:
        world = World()
        id = await waiting(world, "ReqNodeNotAvail")
        asked = world.clock.now()
        world.site.shapes = {LARGE.name: LARGE}
        planned = Planned(
            demand=Demand(),
            workers=(Worker(shape=LARGE.name, phase=Phase.WARMING, since=asked),),
            fleet=Fleet(version=3, desired={LARGE.name: 1}),
            plan=Plan(
                desired={LARGE.name: 1},
                waits={
                    id: Wait(
                        cause=Cause.WARMING,
                        shape=LARGE.name,
                        workers=1,
                        sentence="1 job needs 16 CPUs; 1 general-large is starting",
                    )
                },
            ),
            policy=Policy(),
            shapes=world.site.shapes,
        )
        world.site.planned = Seen(planned, asked)

        found = await why(world, id)

        assert found.why.kind is Kind.PROVISIONING
        assert found.why.chain[0].claim == "1 job needs 16 CPUs; 1 general-large is starting"
        assert found.why.estimate is not None

        world.site.planned = Unseen("No agent has been heard.")
        assert any("No agent" in each for each in (await why(world, id)).why.unseen)

    asyncio.run(story())


def test_a_guess_is_put_on_record_once_and_settled_when_the_job_has_started() -> None:
    async def story() -> None:
        world = World()
        id = await waiting(world, "Priority")
        first = await why(world, id)
        await why(world, id)
        record = await world.store.get(FORECASTS, world.id, Forecasts())
        assert len(record.value.predictions) == 1
        assert first.why.estimate is not None
        assert first.why.estimate.calibration.predictions == 0

        world.clock.advance(timedelta(seconds=1))
        world.slurm.move(id, JobState.RUNNING)
        await world.observer.look()
        second = await why(world, await waiting(world, "Priority"))

        assert second.why.estimate is not None
        assert second.why.estimate.calibration.predictions == 1
        assert second.why.estimate.calibration.inside == 1

    asyncio.run(story())


def test_a_held_job_gets_no_guess() -> None:
    async def story() -> None:
        world = World()
        assert (await why(world, await waiting(world, "JobHeldUser"))).why.estimate is None

    asyncio.run(story())


@pytest.mark.parametrize("others", [OthersJobs.QUEUE, OthersJobs.HIDDEN])
def test_of_anothers_job_only_that_is_told_which_the_caller_may_see(others: OthersJobs) -> None:
    async def story() -> None:
        world = World()
        first = await waiting(world, "Priority")
        id = await waiting(world, "Dependency", dependency=f"afterok:{first}")
        stranger = replace(Caller(user="bo"), others_jobs=others)
        if others is OthersJobs.HIDDEN:
            with pytest.raises(NotFound):
                await why(world, id, stranger)
            return
        found = await why(world, id, stranger)

        assert found.why.kind is Kind.DEPENDENCY
        rows = [row for link in found.why.chain for row in link.evidence]
        assert all(row.kind is not Source.EVENT for row in rows)
        assert f"job {first}" not in found.why.summary

    asyncio.run(story())

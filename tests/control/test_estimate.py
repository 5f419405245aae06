"""What is said of a job before it is submitted: as of one that waits, and nothing is done."""

import asyncio
from collections.abc import Coroutine
from datetime import timedelta
from typing import Any

from clusterra.control.cost.estimate import estimate_job
from clusterra.core.access import Caller, Role
from clusterra.core.cost.estimate.alternatives import Kind
from clusterra.core.cost.estimate.outlook import Available, Outlook
from clusterra.core.jobs.forecast import FORECASTS, Forecasts
from clusterra.core.jobs.job import JobState
from clusterra.core.jobs.request import JobRequest
from clusterra.core.scaling.plan import Cause
from tests.builders import NOON
from tests.control.test_price import a_lab
from tests.control.test_scale import Lab
from tests.world import LAB, World

ANA = Caller(user="ana", email="ana@lab.example")
HOUR = {"set": True, "number": 60}


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(story)


async def estimated(world: World, caller: Caller = ANA, **properties: Any) -> Outlook:
    request = JobRequest(script="#!/bin/sh\n", properties={"name": "align"} | properties)
    return await estimate_job(
        world.site,
        request,
        caller,
        quotas=world.plane().quotas,
        store=world.store,
        clock=world.clock,
    )


async def planned(lab: Lab) -> None:
    await lab.world.observer.look()
    lab.heard()
    await lab.scaler.scale()


def test_a_job_on_an_empty_cluster_starts_when_its_worker_has_come() -> None:
    async def story() -> None:
        lab = a_lab()
        await planned(lab)

        found = await estimated(lab.world, time_limit=HOUR)

        assert found.available is Available.START
        assert found.wait is not None
        assert found.wait.cause is Cause.WARMING
        assert found.shape is not None
        assert found.shape.name == "compute-xs"
        assert found.start is not None
        assert found.start.high > found.start.likely > NOON
        assert "no compute-xs worker has come here yet" in found.start.basis.lower()

    run(story())


def test_how_long_workers_took_before_is_what_the_start_is_guessed_from() -> None:
    async def story() -> None:
        lab = a_lab()
        await lab.submit()
        await planned(lab)
        lab.obey()
        lab.world.clock.advance(timedelta(seconds=40))
        lab.register()
        await lab.scaler.scale()
        await lab.submit(cpus_per_task=3, minimum_cpus=3)
        await planned(lab)

        found = await estimated(lab.world, cpus_per_task=3)

        assert found.worker_seconds == 40
        assert found.start is not None
        wait = (found.start.likely - lab.world.clock.now()).total_seconds()
        assert 15 < wait < 70

    run(story())


def test_a_worker_that_is_free_is_named() -> None:
    async def story() -> None:
        lab = a_lab()
        name = await lab.with_one_worker()
        await planned(lab)

        found = await estimated(lab.world)

        assert (found.available, found.node) == (Available.NOW, name)

    run(story())


def test_those_who_wait_already_come_first() -> None:
    async def story() -> None:
        lab = a_lab()
        await lab.with_one_worker()
        for _ in range(3):
            await lab.submit()
        await planned(lab)

        found = await estimated(lab.world)

        assert found.available is not Available.NOW
        assert found.node == ""

    run(story())


def test_a_held_job_is_said_to_wait_until_it_is_released() -> None:
    async def story() -> None:
        lab = a_lab()
        await planned(lab)

        found = await estimated(lab.world, hold=True)

        assert found.start is None
        assert "held" in found.why_no_start.lower()

    run(story())


def test_when_a_job_starts_that_depends_on_one_nobody_knows_is_not_guessed() -> None:
    async def story() -> None:
        lab = a_lab()
        await planned(lab)

        found = await estimated(lab.world, dependency="afterok:99")

        assert found.start is None
        assert "99" in found.why_no_start

    run(story())


def test_a_job_that_depends_on_a_running_one_starts_after_it() -> None:
    async def story() -> None:
        lab = a_lab()
        await lab.with_one_worker()
        first = await lab.submit()
        lab.world.slurm.move(first, JobState.RUNNING, time_limit_minutes=600)
        await planned(lab)

        found = await estimated(lab.world, dependency=f"afterok:{first}")

        assert found.start is not None
        assert (found.start.high - lab.world.clock.now()).total_seconds() > 600

    run(story())


def test_a_job_that_is_to_begin_later_does() -> None:
    async def story() -> None:
        lab = a_lab()
        await planned(lab)
        at = NOON + timedelta(hours=5)

        found = await estimated(lab.world, begin_time={"set": True, "number": int(at.timestamp())})

        assert found.start is not None
        assert found.start.likely >= at

    run(story())


def test_what_jobs_of_that_name_took_is_what_it_will_likely_cost() -> None:
    async def story() -> None:
        lab = a_lab()
        await lab.with_one_worker()
        for minutes in (10, 20, 60):
            job = await lab.world.submitted_past_us(name="align")
            lab.world.slurm.move(job, JobState.RUNNING)
            lab.world.clock.advance(timedelta(minutes=minutes))
            lab.world.slurm.move(job, JobState.COMPLETED)
            await lab.world.observer.look()
        failed = await lab.world.submitted_past_us(name="align")
        lab.world.slurm.move(failed, JobState.RUNNING)
        lab.world.slurm.move(failed, JobState.FAILED)
        await lab.world.submitted_past_us(name="align", user="ben")
        await planned(lab)

        found = await estimated(lab.world, time_limit={"set": True, "number": 30})

        assert found.before is not None
        assert found.before.jobs == 3
        assert found.before.median_seconds == 20 * 60
        assert found.priced.usd_per_hour is not None
        assert found.likely == found.priced.usd_per_hour * 20 * 60 // 3600
        assert any("took 1h 00m" in each for each in found.warnings)

    run(story())


def test_jobs_that_nobody_gave_a_name_have_nothing_in_common() -> None:
    async def story() -> None:
        lab = a_lab()
        job = await lab.world.submitted_past_us(name="job")
        lab.world.slurm.move(job, JobState.COMPLETED)
        await planned(lab)

        assert (await estimated(lab.world, name="job")).before is None

    run(story())


def test_a_job_without_a_time_limit_is_warned_about() -> None:
    async def story() -> None:
        lab = a_lab()
        await planned(lab)

        assert any("no time limit" in each for each in (await estimated(lab.world)).warnings)
        limited = await estimated(lab.world, time_limit=HOUR)
        assert not any("no time limit" in each for each in limited.warnings)

    run(story())


def test_while_no_agent_is_heard_the_price_is_known_and_the_start_is_not() -> None:
    async def story() -> None:
        lab = a_lab()
        await lab.world.observer.look()

        found = await estimated(lab.world)

        assert found.priced.usd_per_hour
        assert found.start is None
        assert found.why_no_start

    run(story())


def test_buying_spot_is_for_those_who_may_decide_it() -> None:
    async def story() -> None:
        lab = a_lab()
        await planned(lab)
        admin = Caller(user="ana", role=Role.ADMIN)

        mine = await estimated(lab.world)
        theirs = await estimated(lab.world, admin)

        assert Kind.SPOT not in {each.kind for each in mine.alternatives}
        assert Kind.SPOT in {each.kind for each in theirs.alternatives}

    run(story())


def test_on_a_slurm_of_others_the_start_is_guessed_and_the_price_is_said_to_be_unknown() -> None:
    async def story() -> None:
        world = World()
        await world.observer.look()

        found = await estimated(world)

        assert found.start is not None
        assert found.shape is None
        assert found.node == "w1"
        assert found.priced.why_unknown
        assert found.alternatives == ()

    run(story())


def test_nothing_is_written_and_slurm_is_handed_nothing() -> None:
    async def story() -> None:
        lab = a_lab()
        await planned(lab)
        head = await lab.world.store.head(LAB)

        await estimated(lab.world)

        assert await lab.world.store.head(LAB) == head
        forecasts = await lab.world.store.get(FORECASTS, LAB, default=Forecasts())
        assert forecasts.version == 0
        assert [job async for job in lab.world.slurm.all_jobs()] == []

    run(story())

"""What follows from quotas over time: who is told, who is ended, who is left alone."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from clusterra.core.cost.going import NOTICES
from clusterra.core.cost.quota import WORKSPACE
from clusterra.core.cost.quota_edit import EVERYBODY
from clusterra.core.jobs.job import JobState
from clusterra.core.jobs.request import JobEdit
from clusterra.core.money import MICROS
from clusterra.ports import Store
from tests.people import SOMEBODY
from tests.quotas import ANA, BEN, Spending
from tests.world import LAB, World

RUNNING, CANCELLED = JobState.RUNNING, JobState.CANCELLED
KILL: dict[str, Any] = {"mode": "block_and_kill", "grace_seconds": 60}


# --- ending jobs


def test_whoever_is_over_is_told_and_then_ended_and_nobody_else_is_touched(store: Store) -> None:
    async def story() -> None:
        lab = await Spending(World(store)).open()
        old = await lab.runs(cpus=2)
        await lab.later(minutes=1)
        new, bens = await lab.runs(cpus=2), await lab.runs(user="ben", cpus=8)
        await lab.limit(month=2.5, **KILL)

        await lab.round()
        (notice,) = await lab.told("job.cost.over_quota")
        assert (notice["job_id"], notice["person"]) == (new, ANA)
        assert notice["actor"] == "system:quota"
        assert notice["cancels_at"] == "2026-03-02T12:02:00Z"
        assert "ana@lab.example would have spent $4.00 in 2026-03" in notice["why"]
        assert "the limit is $2.50" in notice["why"]

        await lab.later(seconds=59)
        assert await lab.state(new) is RUNNING
        await lab.later(seconds=1)
        assert await lab.state(new) is CANCELLED
        assert [await lab.state(each) for each in (old, bens)] == [RUNNING, RUNNING]

        (ended,) = await lab.told("job.cancelled")
        assert (ended["job_id"], ended["actor"]) == (new, "system:quota")
        assert ended["why"] == notice["why"]
        await lab.later(minutes=5)
        assert len(await lab.told("job.cost.over_quota")) == 1
        assert (await lab.world.store.get(NOTICES, LAB, default=())).value == ()

    asyncio.run(story())


def test_a_notice_is_given_once_by_two_servers_and_a_job_ended_once(store: Store) -> None:
    async def story() -> None:
        lab = await Spending(World(store)).open()
        job = await lab.runs(cpus=4)
        await lab.limit(month=1, **KILL)
        other = lab.another_enforcer(lab.plane)

        for _ in range(3):
            await asyncio.gather(lab.enforcer.enforce(), other.enforce())
        assert len(await lab.told("job.cost.over_quota")) == 1

        lab.world.clock.advance(timedelta(seconds=60))
        await asyncio.gather(lab.enforcer.enforce(), other.enforce())
        await asyncio.gather(lab.enforcer.enforce(), other.enforce())
        await lab.look()

        assert await lab.state(job) is CANCELLED
        assert lab.world.slurm.asked["cancel"] == 1
        assert len(await lab.told("job.cancelled")) == 1

    asyncio.run(story())


def test_a_restart_during_the_grace_neither_forgets_nor_repeats_the_notice(store: Store) -> None:
    async def story() -> None:
        lab = await Spending(World(store)).open()
        job = await lab.runs(cpus=4)
        await lab.limit(month=1, **KILL)
        await lab.round()

        await lab.restart()
        await lab.enforcer.enforce()  # before Slurm has been seen
        assert lab.world.site.sky.seen_at is None
        await lab.later(seconds=59)
        assert await lab.state(job) is RUNNING
        await lab.later(seconds=1)

        assert await lab.state(job) is CANCELLED
        assert len(await lab.told("job.cost.over_quota")) == 1

    asyncio.run(story())


def test_a_raise_during_the_grace_withdraws_the_notice_and_its_end_gives_it_anew() -> None:
    async def story() -> None:
        lab = await Spending().open()
        job = await lab.runs(cpus=1, minutes=240)
        await lab.limit(month=1, **KILL)
        await lab.round()

        now = lab.world.clock.now()
        await lab.plane.quotas.allow_more(
            lab.workspace,
            ANA,
            micros=5 * MICROS,
            until=now + timedelta(hours=1),
            why="",
            by=SOMEBODY,
        )
        await lab.later(minutes=30)
        assert await lab.state(job) is RUNNING
        assert (await lab.world.store.get(NOTICES, LAB, default=())).value == ()

        await lab.later(minutes=30)
        assert len(await lab.told("job.cost.over_quota")) == 2
        assert await lab.state(job) is RUNNING
        await lab.later(seconds=60)
        assert await lab.state(job) is CANCELLED

    asyncio.run(story())


def test_who_ends_other_jobs_during_the_grace_keeps_this_one() -> None:
    async def story() -> None:
        lab = await Spending().open()
        old = await lab.runs(cpus=2)
        await lab.later(minutes=1)
        new = await lab.runs(cpus=2)
        await lab.limit(month=3, **KILL)
        await lab.round()

        await lab.ends(old)
        await lab.later(seconds=60)

        assert await lab.state(new) is RUNNING

    asyncio.run(story())


def test_in_a_new_month_spending_begins_at_nothing_and_old_notices_are_void() -> None:
    async def story() -> None:
        lab = await Spending().open()
        nearly = datetime(2026, 3, 31, 23, 59, 30, tzinfo=UTC)
        lab.world.clock.advance(nearly - lab.world.clock.now())
        await lab.look()
        job = await lab.runs(cpus=4, minutes=60)
        await lab.limit(month=0.01, **KILL)
        await lab.round()
        assert len(await lab.told("job.cost.over_quota")) == 1

        await lab.limit(month=4, **KILL)  # what is left of it costs $3.97 in April
        await lab.later(seconds=90)

        assert await lab.state(job) is RUNNING
        standing = await lab.plane.quotas.standing(lab.workspace, ANA)
        assert standing.month.period.name == "2026-04"
        assert standing.month.booked == 0
        assert (await lab.world.store.get(NOTICES, LAB, default=())).value == ()

    asyncio.run(story())


def test_a_clock_that_is_put_back_ends_nobody_early() -> None:
    async def story() -> None:
        lab = await Spending().open()
        job = await lab.runs(cpus=4)
        await lab.limit(month=1, **KILL)
        await lab.round()

        lab.world.clock.advance(-timedelta(minutes=30))
        await lab.round()
        await lab.later(seconds=59)
        assert await lab.state(job) is RUNNING
        await lab.later(seconds=1)
        assert await lab.state(job) is CANCELLED
        assert len(await lab.told("job.cost.over_quota")) == 1

    asyncio.run(story())


def test_a_workspaces_quota_ends_the_newest_of_all_its_people() -> None:
    async def story() -> None:
        lab = await Spending().open()
        anas = await lab.runs(cpus=4)
        await lab.later(minutes=1)
        bens = await lab.runs(user="ben", cpus=4)
        await lab.limit(WORKSPACE, month=70, **KILL)  # waste of an idle machine included

        await lab.round()
        assert not await lab.told("job.cost.over_quota")
        await lab.limit(WORKSPACE, month=7)
        await lab.round()
        await lab.later(seconds=60)

        assert [await lab.state(each) for each in (anas, bens)] == [RUNNING, CANCELLED]

    asyncio.run(story())


def test_waiting_jobs_and_jobs_without_a_price_are_left_alone() -> None:
    async def story() -> None:
        lab = await Spending().open()
        waiting = await lab.world.submitted_past_us(minimum_cpus=8)
        await lab.look()
        await lab.limit(month=0, **KILL)

        await lab.round()
        await lab.later(minutes=2)

        assert await lab.state(waiting) is JobState.PENDING

    asyncio.run(story())


def test_a_slurm_that_cannot_be_reached_is_asked_again() -> None:
    async def story() -> None:
        lab = await Spending().open()
        job = await lab.runs(cpus=4)
        await lab.limit(month=1, mode="block_and_kill", grace_seconds=0)
        lab.world.slurm.reachable = False
        await lab.enforcer.enforce()
        lab.world.slurm.reachable = True

        lab.world.clock.advance(timedelta(seconds=10))
        await lab.round()
        assert await lab.state(job) is RUNNING
        await lab.later(seconds=30)
        assert await lab.state(job) is CANCELLED

    asyncio.run(story())


@pytest.mark.parametrize("mode", ["observe", "warn", "block"])
def test_no_other_mode_ends_anything(mode: str) -> None:
    async def story() -> None:
        lab = await Spending().open()
        job = await lab.runs(cpus=4)
        await lab.limit(month=0, mode=mode)

        await lab.round()
        await lab.later(minutes=10)

        assert await lab.state(job) is RUNNING
        assert not await lab.told("job.cost.over_quota")

    asyncio.run(story())


# --- telling


def test_high_and_exceeded_are_told_once_each_also_after_a_restart(store: Store) -> None:
    async def story() -> None:
        lab = await Spending(World(store)).open()
        await lab.runs(cpus=6, minutes=600)
        await lab.limit(month=1)

        await lab.later(minutes=7, seconds=59)  # 6 dollars an hour: 10 cents a minute
        assert await lab.told_of_quotas() == []
        await lab.later(seconds=1)
        (high,) = await lab.told_of_quotas()
        assert (high["type"], high["user"], high["used"], high["limit"]) == (
            "user.quota.high",
            ANA,
            "0.80",
            "1.00",
        )
        assert (high["period"], high["currency"], high["mode"]) == ("2026-03", "USD", "warn")

        lab.enforcer = lab.another_enforcer(lab.plane)
        await lab.later(minutes=2)
        await asyncio.gather(lab.enforcer.enforce(), lab.another_enforcer(lab.plane).enforce())
        await lab.later(hours=1)

        told = await lab.told_of_quotas()
        assert [each["type"] for each in told] == ["user.quota.high", "user.quota.exceeded"]

    asyncio.run(story())


def test_another_limit_and_another_day_are_told_anew() -> None:
    async def story() -> None:
        lab = await Spending().open()
        await lab.runs(cpus=1, minutes=6000)
        await lab.limit(EVERYBODY, day=1)
        await lab.later(hours=2)
        assert [each["period"] for each in await lab.told_of_quotas("user.quota.exceeded")] == [
            "2026-03-02"
        ]

        await lab.limit(EVERYBODY, day=2)
        await lab.round()
        await lab.later(days=1)

        exceeded = await lab.told_of_quotas("user.quota.exceeded")
        assert [(each["period"], each["limit"]) for each in exceeded] == [
            ("2026-03-02", "1.00"),
            ("2026-03-02", "2.00"),
            ("2026-03-03", "2.00"),
        ]

    asyncio.run(story())


def test_who_only_observes_is_told_nothing() -> None:
    async def story() -> None:
        lab = await Spending().open()
        await lab.runs(cpus=6)
        await lab.limit(month=1, mode="observe")

        await lab.later(hours=1)

        assert await lab.told_of_quotas() == []

    asyncio.run(story())


# --- alerts


def test_a_day_three_times_the_usual_is_told_once_for_the_person_and_the_workspace() -> None:
    async def story() -> None:
        lab = await Spending().open()
        for _ in range(5):
            job = await lab.runs(cpus=1, minutes=600)
            await lab.later(hours=1)
            await lab.ends(job)
            await lab.later(hours=23)
        assert await lab.told_of_quotas("user.cost.unusual") == []

        job = await lab.runs(user="ana", cpus=3, minutes=600)
        await lab.later(minutes=59)
        unusual = await lab.told_of_quotas("user.cost.unusual")
        assert unusual == []
        await lab.later(minutes=1)
        await lab.later(minutes=30)

        unusual = await lab.told_of_quotas("user.cost.unusual")
        told = [(each["user"], each["micros"], each["usual_micros"]) for each in unusual]
        assert told == [(ANA, 3 * MICROS, MICROS), (WORKSPACE, 3 * MICROS, MICROS)]

    asyncio.run(story())


def test_waste_above_what_an_admin_wants_is_told_once_a_day() -> None:
    async def story() -> None:
        lab = await Spending().open()
        await lab.limit(WORKSPACE, waste=100)
        await lab.world.site.wasting.settle()

        await lab.later(hours=1)  # 64 idle CPUs
        assert await lab.told_of_quotas("fleet.cost.waste_high") == []
        await lab.later(hours=1)
        await lab.later(hours=1)

        (told,) = await lab.told_of_quotas("fleet.cost.waste_high")
        assert told["limit_micros"] == 100 * MICROS
        assert told["micros"] > 100 * MICROS

    asyncio.run(story())


def test_a_job_past_its_estimate_is_told_once_a_run() -> None:
    async def story() -> None:
        lab = await Spending().open()
        job = await lab.runs(cpus=2, minutes=60)
        await lab.world.slurm.edit(job, JobEdit(time_limit_minutes=120), user=None)

        await lab.later(minutes=60)
        assert await lab.told("job.cost.over_estimate") == []
        await lab.later(minutes=1)
        await lab.later(minutes=1)

        (told,) = await lab.told("job.cost.over_estimate")
        assert (told["job_id"], told["person"]) == (job, ANA)
        assert told["estimated_micros"] == 2 * MICROS
        assert told["cost_micros"] == 2 * MICROS * 61 // 60

    asyncio.run(story())


def test_bens_quota_is_not_anas() -> None:
    async def story() -> None:
        lab = await Spending().open()
        anas = await lab.runs(cpus=4)
        bens = await lab.runs(user="ben", cpus=4)
        await lab.limit(BEN, month=1, **KILL)

        await lab.round()
        await lab.later(seconds=60)

        assert [await lab.state(each) for each in (anas, bens)] == [RUNNING, CANCELLED]

    asyncio.run(story())

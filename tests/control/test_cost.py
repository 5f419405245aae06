"""What is told of a job's cost: at its start, and whenever a run of it is over; once, and exactly."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from clusterra.control.history import read_past
from clusterra.core.cost.books import By, Spending, Sums
from clusterra.core.jobs.job import JobState
from tests.builders import NOON
from tests.costs import SMALL, Priced, a_node, repriced
from tests.world import LAB

HOUR = 3600


def cents(amount: float) -> int:
    return round(amount * 10_000)


async def booked(here: Priced, person: str | None = None) -> Sums:
    query = Spending(
        clusters=(LAB,),
        since=NOON - timedelta(days=1),
        until=NOON + timedelta(days=60),
        person=person,
        by=(By.WHAT,),
    )
    found = {each.key: each.sums for each in await here.world.store.spent(query)}
    return found.get(("job",), Sums())


def test_a_start_tells_the_rate_and_an_end_the_cost() -> None:
    async def story() -> None:
        here = Priced()
        await here.look()
        id = await here.started()
        here.pass_time(minutes=10)
        await here.ended(id)

        start, end = await here.costs()
        assert start["type"] == "job.cost.estimated"
        assert start["usd_per_hour_micros"] == cents(18)
        assert start["estimated_micros"] == cents(18)
        assert start["basis"] == ["m6i.xlarge on-demand: $0.36/h (table)"]
        assert start["estimate"]
        assert end["type"] == "job.cost.finalized"
        assert (end["cost_micros"], end["seconds"], end["last"]) == (cents(3), 600, True)
        assert end["person"] == "ana"
        assert (await booked(here)) == Sums(micros=cents(3), jobs=1, seconds=600, cpu_seconds=1200)
        job = await here.world.job(id)
        assert job.billed_micros == cents(3)

    asyncio.run(story())


def test_a_job_of_no_time_costs_nothing_and_is_counted() -> None:
    async def story() -> None:
        here = Priced()
        await here.look()
        id = await here.started()
        await here.ended(id)

        _, end = await here.costs()
        assert (end["cost_micros"], end["charges"]) == (0, [])
        assert await booked(here) == Sums(jobs=1)

    asyncio.run(story())


def test_a_job_that_never_ran_costs_nothing_and_nothing_is_told() -> None:
    async def story() -> None:
        here = Priced()
        await here.look()
        id = await here.world.submitted_past_us()
        await here.look()
        await here.ended(id, JobState.CANCELLED)

        assert await here.costs() == []

    asyncio.run(story())


def test_suspended_time_is_not_paid() -> None:
    async def story() -> None:
        here = Priced()
        await here.look()
        id = await here.started()
        here.pass_time(minutes=10)
        here.world.slurm.move(id, JobState.SUSPENDED)
        await here.look()
        here.pass_time(hours=5)
        [paused] = here.world.site.meter.opened()
        assert (paused.micros, paused.usd_per_hour) == (cents(3), 0)
        here.world.slurm.move(id, JobState.RUNNING)
        await here.look()
        here.pass_time(minutes=20)
        await here.ended(id)

        [end] = await here.costs("job.cost.finalized")
        assert (end["cost_micros"], end["seconds"]) == (cents(9), 1800)

    asyncio.run(story())


def test_every_run_of_a_requeued_job_is_paid_once() -> None:
    async def story() -> None:
        here = Priced()
        await here.look()
        id = await here.started()
        here.pass_time(minutes=10)
        await here.world.slurm.requeue(id, user=None)
        here.pass_time(minutes=5)
        await here.look()
        here.world.slurm.move(id, JobState.RUNNING, nodes="w2")
        await here.look()
        here.pass_time(minutes=20)
        await here.ended(id)

        first, second = await here.costs("job.cost.finalized")
        assert (first["cost_micros"], first["restarts"], first["last"]) == (cents(3), 0, False)
        assert (second["cost_micros"], second["restarts"], second["last"]) == (cents(6), 1, True)
        assert second["total_micros"] == cents(9)
        assert (await booked(here)).jobs == 1

    asyncio.run(story())


def test_runs_that_nobody_saw_are_paid_from_accounting() -> None:
    async def story() -> None:
        here = Priced()
        await here.look()
        id = await here.started()
        for _ in range(3):
            here.pass_time(minutes=10)
            await here.world.slurm.requeue(id, user=None)
            here.pass_time(minutes=1)
            here.world.slurm.move(id, JobState.RUNNING, nodes="w1")
        here.pass_time(minutes=10)
        await here.ended(id)

        told = await here.costs("job.cost.finalized")
        assert [(each["restarts"], each["cost_micros"]) for each in told] == [
            (0, cents(3)),
            (1, cents(3)),
            (2, cents(3)),
            (3, cents(3)),
        ]
        assert (await here.world.job(id)).billed_micros == cents(12)

    asyncio.run(story())


def test_a_job_that_gets_other_nodes_pays_for_each_as_long_as_it_had_them() -> None:
    async def story() -> None:
        here = Priced()
        await here.look()
        id = await here.started()
        here.pass_time(minutes=10)
        here.world.slurm.resize(id, "w[1-2]", cpus=8)
        # A resize does not show in a job's mark: whoever looks at the job sees it.
        await here.world.site.recorder.record(await here.world.slurm.job(id))
        here.pass_time(minutes=10)
        await here.ended(id)

        part, rest = await here.costs("job.cost.finalized")
        assert (part["cost_micros"], part["last"]) == (cents(3), False)
        assert (rest["cost_micros"], rest["last"]) == (cents(12), True)
        assert (await booked(here)) == Sums(
            micros=cents(15), jobs=1, seconds=1200, cpu_seconds=600 * 2 + 600 * 8
        )

    asyncio.run(story())


def test_a_price_that_changes_in_mid_job_counts_from_then_on() -> None:
    async def story() -> None:
        here = Priced()
        await here.look()
        id = await here.started()
        here.pass_time(minutes=10)
        here.at_rates(repriced(SMALL, 720_000))
        await here.look()
        here.pass_time(minutes=10)
        await here.ended(id)

        [end] = await here.costs("job.cost.finalized")
        assert [each["usd_per_hour_micros"] for each in end["charges"]] == [cents(18), cents(36)]
        assert end["cost_micros"] == cents(9)

    asyncio.run(story())


def test_what_has_no_price_costs_an_unknown_amount_and_never_nothing() -> None:
    async def story() -> None:
        here = Priced()
        here.at_rates(replace(SMALL, price=replace(SMALL.price, on_demand=None, spot=None)))
        await here.look()
        id = await here.started()
        here.pass_time(minutes=10)
        await here.ended(id)

        start, end = await here.costs()
        assert start["usd_per_hour_micros"] is None
        assert end["cost_micros"] is None
        assert end["why_unknown"] == "No price is known for the shape small."
        sums = await booked(here)
        assert (sums.micros, sums.unknown, sums.jobs, sums.cpu_seconds) == (0, 1, 1, 1200)

    asyncio.run(story())


def test_a_node_that_vanished_is_paid_as_long_as_the_job_had_it() -> None:
    async def story() -> None:
        here = Priced()
        await here.look()
        id = await here.started()
        here.pass_time(minutes=10)
        here.world.slurm.move(id, JobState.NODE_FAIL)
        await here.world.slurm.delete_nodes(["w1"])
        await here.look()

        [end] = await here.costs("job.cost.finalized")
        assert end["cost_micros"] == cents(3)

    asyncio.run(story())


def test_a_worker_that_just_came_is_looked_at_before_its_first_job_is_priced() -> None:
    async def story() -> None:
        here = Priced()
        await here.look()
        here.pass_time(seconds=1)
        here.world.slurm.join(a_node("w3"))
        id = await here.world.submitted_past_us(minimum_cpus=4)
        here.world.slurm.move(id, JobState.RUNNING, nodes="w3")
        here.world.slurm.move(id, JobState.COMPLETED)
        await here.world.observer.look()

        [end] = await here.costs("job.cost.finalized")
        assert end["why_unknown"] == ""

    asyncio.run(story())


@pytest.mark.parametrize("away", [timedelta(seconds=5), timedelta(hours=1), timedelta(days=3)])
def test_a_server_that_was_away_comes_to_the_same_cost(away: timedelta) -> None:
    async def story() -> None:
        here = Priced()
        await here.look()
        inside, through = await here.started(), await here.started(user="ben", node="w2")
        here.pass_time(minutes=10)
        await here.look()

        here.world.clock.advance(away / 2)
        here.world.slurm.move(inside, JobState.COMPLETED)
        here.world.clock.advance(away / 2)
        later = here.reborn()
        await later.look()
        await later.ended(through)

        told = await later.costs("job.cost.finalized")
        lasted = {each["job_id"]: each["cost_micros"] for each in told}
        minutes = 10 * 60 + int((away / 2).total_seconds())
        assert lasted[inside] == minutes * cents(18) // HOUR
        assert (
            lasted[through]
            == int((timedelta(minutes=10) + away).total_seconds()) * cents(18) // HOUR
        )
        assert (await booked(later)).micros == sum(lasted.values())

    asyncio.run(story())


def test_two_servers_that_see_the_same_end_put_it_down_once() -> None:
    async def story() -> None:
        here = Priced()
        await here.look()
        other = here.reborn()
        id = await here.started()
        await other.look()
        here.pass_time(minutes=10)
        here.world.slurm.move(id, JobState.COMPLETED)
        await asyncio.gather(here.look(), other.look())

        assert len(await here.costs("job.cost.finalized")) == 1
        assert (await booked(here)).micros == cents(3)

    asyncio.run(story())


def test_a_clock_that_steps_back_makes_nothing_cheaper_than_nothing() -> None:
    async def story() -> None:
        here = Priced()
        await here.look()
        id = await here.started()
        here.pass_time(minutes=-30)
        await here.look()
        [running] = here.world.site.meter.opened()
        assert running.micros == 0
        here.pass_time(minutes=40)
        await here.ended(id)

        [end] = await here.costs("job.cost.finalized")
        assert end["cost_micros"] == cents(3)

    asyncio.run(story())


def test_what_a_job_costs_is_written_into_slurms_record_of_it() -> None:
    async def story() -> None:
        here = Priced()
        await here.look()
        id = await here.started()
        site, clock = here.world.site, here.world.clock
        assert not await site.recorder.stamps.write(site.slurm, site.budget, clock)
        assert here.world.slurm.stamps[id] == "clusterra: $0.18/h, $0.18 at its time limit"
        here.pass_time(minutes=10)
        await here.ended(id)
        await site.recorder.stamps.write(site.slurm, site.budget, clock)

        assert here.world.slurm.stamps[id] == "clusterra: cost $0.0300"

    asyncio.run(story())


def test_a_job_that_waits_to_run_again_is_not_written_about() -> None:
    async def story() -> None:
        here = Priced()
        await here.look()
        id = await here.started()
        here.pass_time(minutes=10)
        await here.world.slurm.requeue(id, user=None)
        await here.look()
        site = here.world.site

        await site.recorder.stamps.write(site.slurm, site.budget, here.world.clock)
        assert here.world.slurm.stamps == {}

    asyncio.run(story())


async def _wasted(here: Priced) -> dict[str, Any]:
    [told] = await here.costs("fleet.cost.wasted")
    return {each["cause"]: each["micros"] for each in told["causes"]}


def test_an_hour_of_waste_is_put_down_by_cause_once_it_is_over() -> None:
    async def story() -> None:
        here = Priced()
        await here.look()
        site = here.world.site
        await site.wasting.settle()
        id = await here.started()
        here.pass_time(minutes=30)
        await here.ended(id)
        here.pass_time(minutes=29)
        assert not await site.wasting.settle()
        # w1: half of it unused for half an hour, idle for the other half; w2: idle throughout.
        pending = site.wasting.pending(NOON, NOON + timedelta(hours=1))
        here.pass_time(minutes=5)
        await here.look()
        await _observed(here)
        assert await site.wasting.settle()

        assert await _wasted(here) == {"unused": cents(9), "idle": cents(18 + 36)}
        assert pending_micros(pending) == {"unused": cents(9), "idle": cents(54) - cents(1.2)}
        query = Spending(
            clusters=(LAB,), since=NOON, until=NOON + timedelta(hours=1), by=(By.WHAT,), person=""
        )
        found = {each.key[0]: each.sums.micros for each in await here.world.store.spent(query)}
        assert found == {"unused": cents(9), "idle": cents(54)}

    asyncio.run(story())


def pending_micros(pending: Any) -> dict[str, int]:
    return {what.value: sums.micros for what, sums in pending.items()}


async def _observed(here: Priced) -> None:
    """Note that nothing was missed so far."""
    await read_past(here.world.site, days=1, store=here.world.store, clock=here.world.clock)


def test_waste_of_hours_that_nobody_saw_is_put_down_afterwards() -> None:
    async def story() -> None:
        here = Priced()
        await here.look()
        await here.world.site.wasting.settle()
        await _observed(here)
        id = await here.started()
        here.pass_time(minutes=30)
        here.world.slurm.move(id, JobState.COMPLETED)
        here.pass_time(hours=2)
        later = here.reborn()
        await later.look()
        assert not await later.world.site.wasting.settle(), "what ended meanwhile is not known yet"
        await _observed(later)
        while await later.world.site.wasting.settle():
            pass

        first, second = await later.costs("fleet.cost.wasted")
        assert first["micros"] == cents(63)
        assert second["micros"] == cents(72)

    asyncio.run(story())


def test_a_run_whose_end_slurm_does_not_show_yet_is_paid_until_it_was_seen_to_be_over() -> None:
    async def story() -> None:
        here = Priced()
        await here.look()
        id = await here.started()
        here.pass_time(minutes=10)
        [job] = await here.world.slurm.job(id)
        # Accounting is behind, and the submit time is still that of the run before.
        here.world.site.recorder.earlier_runs = _none_known
        clearing = replace(
            job,
            state=JobState.PENDING,
            flags=("COMPLETING",),
            restarts=1,
            nodes="",
            started_at=None,
        )
        await here.world.site.recorder.record([clearing])

        [end] = await here.costs("job.cost.finalized")
        assert (end["cost_micros"], end["restarts"]) == (cents(3), 0)

    asyncio.run(story())


async def _none_known(_: int) -> list[Any]:
    return []


def test_machines_that_were_stopped_meanwhile_cost_nothing_while_they_were() -> None:
    async def story() -> None:
        here = Priced()
        await here.look()
        await here.world.site.wasting.settle()
        here.pass_time(minutes=30)
        await here.look()
        await _observed(here)

        here.pass_time(hours=12)
        await here.world.slurm.delete_nodes(["w2"])
        later = here.reborn()
        later.world.site.meter.begun_at = here.world.clock.now()
        await later.look()

        meter = later.world.site.meter
        stopped = NOON + timedelta(minutes=30)
        assert [each.until for each in meter.stints["w2"]] == [stopped]
        assert [(each.since, each.until) for each in meter.stints["w1"]] == [
            (NOON, stopped),
            (here.world.clock.now(), None),
        ]

    asyncio.run(story())


def test_a_job_that_is_cancelled_while_it_waits_to_run_again_is_over_and_counted() -> None:
    async def story() -> None:
        here = Priced()
        await here.look()
        id = await here.started()
        here.pass_time(minutes=10)
        await here.world.slurm.requeue(id, user=None)
        await here.look()
        here.pass_time(minutes=10)
        await here.ended(id, JobState.CANCELLED)

        _, last = await here.costs("job.cost.finalized")
        assert (last["cost_micros"], last["total_micros"], last["last"]) == (0, cents(3), True)
        assert (await booked(here)).jobs == 1

    asyncio.run(story())


def test_accounting_is_asked_only_for_runs_that_nobody_saw() -> None:
    async def story() -> None:
        here = Priced()
        await here.look()
        id = await here.started()
        for _ in range(2):
            here.pass_time(minutes=10)
            await here.world.slurm.requeue(id, user=None)
            await here.look()
            here.world.slurm.move(id, JobState.RUNNING, nodes="w1")
            await here.look()
        here.pass_time(minutes=10)
        await here.ended(id)

        assert here.world.slurm.asked["earlier_runs"] == 0
        assert (await booked(here)).micros == cents(9)

    asyncio.run(story())

"""A job that runs: what it has come to, and what is still to come."""

from datetime import timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from clusterra.adapters.memory import ManualClock, MemoryStore
from clusterra.control.cost.meter import Meter
from clusterra.core.cost.open import Open
from clusterra.core.cost.prices import Book
from clusterra.core.jobs.job import Job, JobState
from tests.builders import NOON, a_job
from tests.core.cost.test_bill import a_stint

HOUR = 3600
CHANGED = 500
"""Seconds after which its node costs twice as much."""


def metered(job: Job) -> Meter:
    return Meter(
        cluster="cluslab1",
        store=MemoryStore(),
        clock=ManualClock(NOON),
        book=Book(table_at=NOON),
        stints={"w1": (a_stint(), a_stint(CHANGED, 720_000))},
        running={job.id: job},
    )


def running(**facts: Any) -> Job:
    return a_job(state=JobState.RUNNING, started_at=NOON, nodes="w1", **facts)


def after(job: Job, seconds: int) -> Open:
    return metered(job).open(job, NOON + timedelta(seconds=seconds))


@given(st.integers(CHANGED, 2 * HOUR), st.integers(0, HOUR))
def test_time_that_goes_on_comes_to_the_same_as_pricing_anew(first: int, more: int) -> None:
    job = running()
    grown = after(job, first).later(NOON + timedelta(seconds=first + more))

    assert grown in (None, after(job, first + more))
    assert (grown is None) == (first == CHANGED)


def test_a_job_costs_the_new_price_from_the_very_moment_it_changed() -> None:
    before, then = after(running(), CHANGED - 1), after(running(), CHANGED)

    assert (before.usd_per_hour, then.usd_per_hour) == (90_000, 180_000)
    assert then.bill.micros == CHANGED * 90_000 // HOUR


def test_a_clock_that_steps_back_has_it_priced_anew() -> None:
    assert after(running(), 600).later(NOON) is None


def test_what_is_to_come_ends_with_the_limit_or_the_period() -> None:
    job = after(running(time_limit_minutes=60), 1800)

    assert job.to_come(NOON + timedelta(days=1)) == (job.usd_per_hour or 0) // 2
    assert job.to_come(NOON + timedelta(minutes=45)) == (job.usd_per_hour or 0) // 4
    assert job.to_come(NOON) == 0


def test_a_job_without_a_limit_is_taken_to_go_on() -> None:
    job = after(running(time_limit_minutes=None), 1800)

    assert job.to_come(NOON + timedelta(hours=10, minutes=30)) == 10 * (job.usd_per_hour or 0)

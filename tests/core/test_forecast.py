"""When a job will start: eight of ten inside the band, from the cluster's own past."""

import math
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from random import Random

import pytest

from clusterra.core.jobs.forecast import (
    KEPT,
    Ahead,
    Calibration,
    Estimate,
    Forecasts,
    Past,
    Race,
    Runner,
    estimate,
    predicted,
    settled,
)
from clusterra.core.jobs.job import JobState
from tests.builders import NOON, a_job

NONE_YET = Calibration()


def guess(ahead: Ahead, past: Past) -> Estimate:
    return estimate(ahead, past, now=NOON, calibration=NONE_YET)


Draw = Callable[[Random], float]
STARTS: list[Draw] = [
    lambda random: random.uniform(20, 40),
    lambda random: random.expovariate(1 / 60),
    lambda random: math.exp(random.gauss(4, 0.6)),
]


@pytest.mark.parametrize("draw", STARTS, ids=["even", "exponential", "lognormal"])
def test_about_eight_of_ten_workers_come_inside_the_band(draw: Draw) -> None:
    random, inside, rounds = Random(4471), 0, 300
    for _ in range(rounds):
        past = Past(starts=tuple(draw(random) for _ in range(25)))
        band = guess(Ahead(awaited=(NOON,), shape="general-large"), past)
        inside += band.low <= NOON + timedelta(seconds=draw(random)) <= band.high

    assert 0.72 <= inside / rounds <= 0.92


def test_about_eight_of_ten_jobs_start_inside_the_band_when_others_must_end_first() -> None:
    random, inside, rounds = Random(4471), 0, 150

    def share() -> float:
        return min(random.betavariate(2, 3), 1.0)

    for _ in range(rounds):
        past = Past(shares=tuple(share() for _ in range(60)))
        running = tuple(
            Runner(id=id, amount=2, started_at=NOON, limit_minutes=60) for id in range(4)
        )
        ahead = Ahead(race=Race(running=running, need=4))
        ends = sorted(share() * 3600 for _ in running)
        band = guess(ahead, past)
        inside += band.low <= NOON + timedelta(seconds=ends[1]) <= band.high

    assert 0.70 <= inside / rounds <= 0.95


def test_the_same_question_has_the_same_answer() -> None:
    ahead = Ahead(awaited=(NOON,), shape="general-large")
    past = Past(starts=(2.0, 3.0, 9.0))

    assert guess(ahead, past) == guess(ahead, past)


def test_what_has_already_been_waited_is_taken_off() -> None:
    past = Past(starts=tuple(float(n) for n in range(20, 41)))
    late = Ahead(awaited=(NOON - timedelta(seconds=30),), shape="general-large")

    band = guess(late, past)

    assert band.likely < NOON + timedelta(seconds=11)
    assert band.low >= NOON


def test_without_a_history_the_band_is_wide_and_says_so() -> None:
    band = guess(Ahead(awaited=(NOON,), shape="general-large"), Past())

    assert "wide guess" in band.basis
    assert band.high - band.low > timedelta(minutes=2)


def test_it_does_not_start_before_it_may() -> None:
    later = NOON + timedelta(hours=1)

    band = guess(Ahead(not_before=later), Past(waits=(1.0,) * 20))

    assert band.low >= later
    assert band.high < later + timedelta(seconds=10)


def test_those_ahead_take_what_becomes_free_first() -> None:
    past = Past(shares=(1.0,) * 20)
    running = (Runner(id=1, started_at=NOON, limit_minutes=10),)
    alone = guess(Ahead(race=Race(running=running)), past)
    behind = Race(running=running, ahead=(Runner(id=2, limit_minutes=30),))

    assert guess(Ahead(race=behind), past).likely > alone.likely + timedelta(minutes=25)


def a_band(minutes: int = 5) -> Estimate:
    high = NOON + timedelta(minutes=minutes)
    return Estimate(low=NOON, likely=NOON, high=high, basis="From nothing")


def test_a_guess_is_settled_when_its_job_starts_inside_or_not() -> None:
    made = predicted(Forecasts(), a_job(1), a_band(), NOON)
    made = predicted(made, a_job(2), a_band(), NOON)
    in_time = a_job(1, state=JobState.RUNNING, started_at=NOON + timedelta(minutes=1), nodes="w1")
    too_late = replace(in_time, id=2, started_at=NOON + timedelta(minutes=6))

    known = settled(made, {1: in_time, 2: too_late}).calibration

    assert (known.predictions, known.inside, known.share) == (2, 1, 0.5)


def test_only_the_first_guess_about_a_job_counts() -> None:
    once = predicted(Forecasts(), a_job(1), a_band(), NOON)

    assert predicted(once, a_job(1), a_band(50), NOON) == once


def test_a_job_that_never_started_settles_nothing() -> None:
    made = predicted(Forecasts(), a_job(1), a_band(), NOON)
    cancelled = a_job(1, state=JobState.CANCELLED, ended_at=NOON)

    assert settled(made, {1: cancelled}) == Forecasts()
    assert settled(made, {1: a_job(1)}) == made


def test_only_the_last_guesses_are_kept() -> None:
    made = Forecasts()
    for id in range(KEPT + 5):
        made = predicted(made, a_job(id), a_band(), NOON)

    assert len(made.predictions) == KEPT
    assert made.predictions[0].job_id == 5

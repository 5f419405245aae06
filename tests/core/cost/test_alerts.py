"""What is unusual about money: days, and jobs that cost more than was said."""

from dataclasses import replace

import pytest

from clusterra.core.cost.alerts import is_unusual, over_estimate, usual
from clusterra.core.money import MICROS
from tests.core.cost.quotas import a_run, usd


@pytest.mark.parametrize(
    ("days", "usually"),
    [
        ([], None),
        ([5, 5, 5, 5, 0], None),
        ([9, 1, 5, 3, 7], 5),
        ([9, 1, 5, 3, 7, 6], 5),
        ([0, 0, 0, 9, 1, 5, 3, 7], 5),
        ([1, 1, 1, 1, 1_000], 1),
    ],
)
def test_usual_is_the_middle_of_at_least_five_days_with_any_spending(
    days: list[int], usually: int | None
) -> None:
    assert usual(days) == usually


@pytest.mark.parametrize(
    ("today", "usually", "unusual"),
    [
        (3 * MICROS, MICROS, True),
        (3 * MICROS - 1, MICROS, False),
        (MICROS, 1, True),
        (MICROS - 1, 1, False),
        (100 * MICROS, None, False),
    ],
)
def test_three_times_the_usual_is_unusual_from_a_dollar_on(
    today: int, usually: int | None, unusual: bool
) -> None:
    assert is_unusual(today, usually) is unusual


def test_a_job_is_past_its_estimate_when_it_has_cost_more_and_not_when_as_much() -> None:
    run = a_run(1, began=60).open  # one hour at a dollar

    def estimated(micros: int | None) -> int | None:
        return over_estimate(replace(run, job=replace(run.job, estimated_micros=micros)))

    assert estimated(usd(1)) is None
    assert estimated(usd(1) - 1) == usd(1)
    assert estimated(None) is None


def test_what_earlier_runs_cost_is_not_held_against_the_present_one() -> None:
    run = a_run(1, began=60).open
    job = replace(run.job, restarts=1, billed_micros=usd(50), estimated_micros=usd(1))

    assert over_estimate(replace(run, job=job)) is None
    assert over_estimate(replace(run, job=replace(job, restarts=0))) == usd(51)

"""What one job has cost by now, whatever has become of it, and in which words."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from clusterra.core.cost.bill import Bill
from clusterra.core.cost.books import Payer
from clusterra.core.cost.charges import Charge
from clusterra.core.cost.open import Open
from clusterra.core.cost.reckon import NOT_READ, NOT_RECORDED, at_rest, while_running
from clusterra.core.cost.so_far import CostSoFar
from clusterra.core.jobs.job import HALF_READ, Job, JobState
from tests.builders import NOON, a_job

HALF_AN_HOUR = timedelta(minutes=30)


def running(*, rate: int | None = 380_000, why: str = "", **facts: Any) -> Open:
    job = a_job(
        state=JobState.RUNNING, started_at=NOON, nodes="w1", **({"time_limit_minutes": 120} | facts)
    )
    until = NOON + HALF_AN_HOUR
    charge = Charge(since=NOON, until=until, usd_per_hour=rate)
    return Open(
        job=job,
        payer=Payer(person="ana"),
        bill=Bill(charges=(charge,), why_unknown=why),
        usd_per_hour=rate,
        now=until,
    )


def over(**facts: Any) -> Job:
    known: dict[str, Any] = {"started_at": NOON, "nodes": "w1", "ended_at": NOON + HALF_AN_HOUR}
    return a_job(state=JobState.COMPLETED, **(known | facts))


def test_a_running_job_costs_so_much_so_far_and_so_much_at_most() -> None:
    found = while_running(running())

    assert (found.micros, found.usd_per_hour, found.estimated) == (190_000, 380_000, 760_000)
    assert found.words == "$0.19 so far, $0.38/h, at most $0.76"
    assert not found.final


def test_earlier_runs_count_and_one_without_a_limit_has_no_most() -> None:
    found = while_running(running(billed_micros=810_000, time_limit_minutes=None))

    assert (found.micros, found.estimated) == (1_000_000, None)
    assert found.words == "$1.00 so far, $0.38/h"


def test_one_price_that_is_missing_makes_the_whole_unknown() -> None:
    now = while_running(running(rate=None, why="No price is known."))
    before = while_running(running(why_unbilled="An earlier run had no price."))

    assert (now.micros, now.estimated, now.words) == (None, None, "not known: No price is known.")
    assert (before.micros, before.why_unknown) == (None, "An earlier run had no price.")


def test_one_that_has_ended_cost_what_is_in_the_books() -> None:
    found = at_rest(over(billed_micros=190_000, billed_runs=(0,), estimated_micros=760_000))

    assert (found.micros, found.final, found.words) == (190_000, True, "$0.19")
    assert found.estimated == 760_000


@pytest.mark.parametrize(
    ("facts", "micros", "words"),
    [({}, 0, "nothing yet"), ({"billed_micros": 190_000}, 190_000, "$0.19 so far")],
)
def test_one_that_waits_costs_nothing_but_its_earlier_runs(
    facts: dict[str, Any], micros: int, words: str
) -> None:
    found = at_rest(a_job(**facts))

    assert (found.micros, found.words, found.final) == (micros, words, False)


def test_one_that_ended_before_anybody_kept_costs_is_not_known_and_not_nothing() -> None:
    assert at_rest(over()) == CostSoFar(micros=None, why_unknown=NOT_RECORDED, final=True)


def test_one_whose_end_is_not_read_yet_is_not_final() -> None:
    found = at_rest(replace(over(), flags=(HALF_READ,)))

    assert (found.micros, found.why_unknown, found.final) == (None, NOT_READ, False)


def test_one_that_never_ran_cost_nothing() -> None:
    found = at_rest(a_job(state=JobState.CANCELLED))

    assert (found.micros, found.final, found.words) == (0, True, "$0.00")

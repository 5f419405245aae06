"""What machines cost without working: together with what jobs pay, exactly what they cost."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterra.core.cost.bill import Stretch, bill
from clusterra.core.cost.books import What, portions
from clusterra.core.cost.charges import HOUR
from clusterra.core.cost.waste import by_quarters, entries, waste
from clusterra.core.scaling.fleet import Phase
from tests.builders import NOON
from tests.core.cost.test_bill import a_stint, a_stretch, after

PRICE = 360_000


def one_hour(*runs: Stretch, **stint: object) -> dict[str, int]:
    found = waste({"w1": (a_stint(**stint),)}, runs, NOON, after(HOUR))  # type: ignore[arg-type]
    return {what.value: micros for what, micros in found.micros.items()}


@pytest.mark.parametrize(
    ("phase", "cause"),
    [
        (Phase.WARMING, "warming"),
        (Phase.READY, "idle"),
        (Phase.LEAVING, "leaving"),
        (Phase.CLOSED, "closed"),
    ],
)
def test_a_machine_without_jobs_is_wasted_by_what_it_is_doing(phase: Phase, cause: str) -> None:
    assert one_hour(phase=phase) == {cause: PRICE}


def test_of_a_machine_that_works_the_part_is_wasted_that_no_job_has() -> None:
    quarter, half = a_stretch(cpus=2), a_stretch(cpus=1, memory_mib=16_000)

    assert one_hour(quarter) == {"unused": PRICE * 3 // 4}
    assert one_hour(quarter, half) == {"unused": PRICE // 4}


def test_jobs_that_together_pay_more_than_a_machine_waste_nothing() -> None:
    by_cpu, by_memory = a_stretch(cpus=6, memory_mib=1), a_stretch(cpus=1, memory_mib=24_000)

    assert one_hour(by_cpu, by_memory) == {}


def test_a_machine_without_a_price_is_named_and_costs_nothing_that_is_known() -> None:
    found = waste({"w1": (a_stint(quote=None, why_not="?"),)}, [], NOON, after(HOUR))

    assert found.micros == {}
    assert found.unknown == {"w1"}
    assert found.seconds == {What.IDLE: HOUR}


def test_a_machine_is_paid_from_when_it_came_until_it_went() -> None:
    stints = (a_stint(600, until=after(1800)),)

    assert waste({"w1": stints}, [], NOON, after(HOUR)).micros == {What.IDLE: PRICE // 3}


@st.composite
def jobs(draw: st.DrawFn) -> Stretch:
    since = draw(st.integers(-1800, 2 * HOUR))
    return a_stretch(
        since,
        since + draw(st.integers(1, 3 * HOUR)),
        cpus=draw(st.integers(1, 2)),
        memory_mib=1,
    )


@given(st.lists(jobs(), max_size=4), st.integers(1, HOUR))
def test_jobs_and_waste_come_to_what_the_machine_cost(runs: list[Stretch], length: int) -> None:
    nodes = {"w1": (a_stint(-7200, usd_per_hour=HOUR * 8),)}
    until = after(length)

    wasted = waste(nodes, runs, NOON, until).total
    inside = [_clipped(run, NOON, until) for run in runs]
    paid = sum(bill([run], nodes).micros or 0 for run in inside if run.since < run.until)

    assert wasted + paid == 8 * length


def _clipped(run: Stretch, since: datetime, until: datetime) -> Stretch:
    return a_stretch(
        int((max(run.since, since) - NOON).total_seconds()),
        int((min(run.until, until) - NOON).total_seconds()),
        cpus=run.cpus,
        memory_mib=run.memory_mib,
    )


@given(st.lists(jobs(), max_size=4))
def test_the_books_get_exactly_what_the_quarters_come_to(runs: list[Stretch]) -> None:
    quarters = by_quarters({"w1": (a_stint(-100),)}, runs, NOON, NOON + timedelta(hours=1))

    booked = {
        entry.what: sum(sums.micros for _, sums in portions(entry)) for entry in entries(quarters)
    }
    for what in What:
        assert booked.get(what, 0) == sum(each.micros.get(what, 0) for each in quarters)


def test_a_node_that_had_ten_thousand_jobs_is_gone_through_once() -> None:
    runs = [a_stretch(n % HOUR, n % HOUR + 1, cpus=1) for n in range(10_000)]

    found = waste({"w1": (a_stint(),)}, runs, NOON, after(HOUR))

    assert found.seconds == {What.UNUSED: HOUR}

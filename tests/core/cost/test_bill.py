"""What a job costs: by the largest share, by the history of its nodes, to the millionth."""

from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterra.core.cost.bill import Stretch, bill, share_of, stretches
from clusterra.core.cost.charges import Charge, accrued, between
from clusterra.core.cost.prices import Quote, Source
from clusterra.core.cost.stints import Stint
from clusterra.core.jobs.job import JobState
from tests.builders import NOON, a_job


def after(seconds: int) -> datetime:
    return NOON + timedelta(seconds=seconds)


def quoted(usd_per_hour: int) -> Quote:
    return Quote(usd_per_hour=usd_per_hour, source=Source.TABLE, at=NOON, basis="m6i.2xlarge")


def a_stint(since: int = 0, usd_per_hour: int = 360_000, **more: object) -> Stint:
    known = {"cpus": 8, "memory_mib": 32_000, "gpus": 0, "quote": quoted(usd_per_hour)}
    return Stint(since=after(since), **(known | more))  # type: ignore[arg-type]


def a_stretch(since: int = 0, until: int = 3600, **more: object) -> Stretch:
    known = {"nodes": ("w1",), "cpus": 2, "memory_mib": 4_000, "gpus": 0}
    return Stretch(since=after(since), until=after(until), **(known | more))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wants", "node", "costs"),
    [
        ({"cpus": 2}, {}, 90_000),
        ({"cpus": 1, "memory_mib": 16_000}, {}, 180_000),
        ({"cpus": 1, "gpus": 1}, {"gpus": 2}, 180_000),
        ({"cpus": 1, "memory_mib": 1}, {"cpus": 3}, 120_000),
        ({"cpus": 16, "memory_mib": 4_000}, {}, 360_000),
        ({"cpus": 4, "nodes": ("w1", "w2")}, {}, 90_000),
    ],
)
def test_the_largest_share_of_a_node_is_what_it_pays(
    wants: dict[str, Any], node: dict[str, Any], costs: int
) -> None:
    assert share_of(360_000, a_stretch(**wants), a_stint(**node)) == costs


def test_an_hour_costs_what_an_hour_is_said_to_cost() -> None:
    made = bill([a_stretch()], {"w1": (a_stint(),)})

    assert made.micros == 90_000
    assert made.usd_per_hour == 90_000


def test_a_price_that_changes_in_mid_job_counts_from_then_on() -> None:
    stints = (replace(a_stint(), until=after(1800)), a_stint(1800, 720_000))

    made = bill([a_stretch()], {"w1": stints})

    assert [each.usd_per_hour for each in made.charges] == [90_000, 180_000]
    assert made.micros == 45_000 + 90_000


def test_what_no_price_is_known_for_is_not_free() -> None:
    unpriced = replace(a_stint(), quote=None, why_not="No price is known for x1.mega")

    assert bill([a_stretch()], {"w1": (unpriced,)}).micros is None
    assert bill([a_stretch()], {"w1": (unpriced,)}).why_unknown == "No price is known for x1.mega"
    assert "w1" in bill([a_stretch()], {}).why_unknown


def test_a_job_of_no_seconds_costs_nothing() -> None:
    job = a_job(1, state=JobState.COMPLETED, started_at=NOON, ended_at=NOON, nodes="w1", cpus=2)

    assert bill(stretches(job, after(60)), {"w1": (a_stint(),)}).micros == 0


def test_the_moment_before_a_node_was_seen_costs_what_it_costs_then() -> None:
    assert bill([a_stretch()], {"w1": (a_stint(5),)}).micros == 90_000


class TestSuspended:
    def test_time_in_suspension_is_not_paid(self) -> None:
        job = a_job(
            1,
            state=JobState.COMPLETED,
            started_at=NOON,
            ended_at=after(3600),
            suspended_seconds=1800,
            nodes="w1",
            cpus=2,
        )

        assert bill(stretches(job, after(9999)), {"w1": (a_stint(),)}).micros == 45_000

    def test_nor_is_one_that_goes_on(self) -> None:
        job = a_job(
            1,
            state=JobState.SUSPENDED,
            started_at=NOON,
            suspended_seconds=600,
            paused_at=after(1800),
            nodes="w1",
            cpus=2,
        )

        assert bill(stretches(job, after(7200)), {"w1": (a_stint(),)}).seconds == 1200


moments = st.integers(0, 100_000)
charges = st.lists(
    st.tuples(st.integers(1, 20_000), st.integers(0, 20_000), st.integers(0, 10**9)), max_size=6
)


def laid_out(parts: list[tuple[int, int, int]]) -> list[Charge]:
    made, at = [], 0
    for length, gap, rate in parts:
        made.append(Charge(since=after(at), until=after(at + length), usd_per_hour=rate))
        at += length + gap
    return made


@given(charges, st.lists(moments, max_size=20))
def test_periods_that_meet_add_up_to_the_millionth(
    parts: list[tuple[int, int, int]], cuts: list[int]
) -> None:
    made = laid_out(parts)
    bounds = [after(-1), *map(after, sorted(cuts)), after(10**6)]

    pieces = [between(made, a, b) for a, b in pairwise(bounds)]

    assert sum(pieces) == accrued(made)
    assert all(piece >= 0 for piece in pieces)

"""A queue on a virtual clock: what it costs and how long it waits, to the second and the cent."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterra.core.scaling.demand import Need
from clusterra.core.scaling.policy import Policy, Rule
from clusterra.core.scaling.shapes import Family, Price, Shape
from clusterra.core.scaling.simulate import simulate
from clusterra.core.scaling.synthetic import DAY, synthetic
from clusterra.core.scaling.yard import Arrival

HOUR = 3600


def a_shape(name: str = "general-small", **known: Any) -> Shape:
    facts: dict[str, Any] = {
        "family": Family.GENERAL,
        "size": "small",
        "arch": "amd64",
        "vcpus": 8,
        "memory_gib": 32,
        "cpus": 7,
        "memory_mib": 28_000,
        "price": Price(on_demand=360_000),
    } | known
    return Shape(name=name, **facts)


SMALL = {"general-small": a_shape()}
"""A hundred millionths of a dollar a second."""


def a_job(at: int = 0, seconds: int = 600, priority: int = 0, **need: Any) -> Arrival:
    asked = Need(**({"cpus": 7, "memory_mib": 28_000} | need))
    return Arrival(at=at, seconds=seconds, priority=priority, need=asked)


def test_one_job_waits_for_its_worker_and_pays_for_it_until_it_has_gone() -> None:
    outcome = simulate([a_job(at=100, seconds=600)], Policy(idle_seconds=120), SMALL)

    assert (outcome.waits.mean, outcome.waits.longest, outcome.never_ran) == (60, 60, 0)
    assert (outcome.warming_seconds, outcome.busy_seconds) == (60, 600)
    # It is idle from second 760 on; the round at 880 drains it and the next counts it out.
    assert outcome.idle_seconds == 121
    assert outcome.cost_micros == 100 * (60 + 600 + 121)
    assert (outcome.peak_workers, outcome.started_workers) == (1, 1)


def test_a_worker_that_is_still_there_is_used_again() -> None:
    jobs = [a_job(seconds=100), a_job(at=200, seconds=100)]

    kept = simulate(jobs, Policy(idle_seconds=120), SMALL)
    given_back = simulate(jobs, Policy(idle_seconds=0), SMALL)

    assert (kept.started_workers, kept.waits.longest) == (1, 60)
    assert (given_back.started_workers, given_back.waits.p95) == (2, 60)


def test_a_job_that_comes_while_the_only_worker_leaves_gets_another() -> None:
    # Idle from 160 on, drained at 280: the next job comes in the second before it is gone.
    jobs = [a_job(seconds=100), a_job(at=281, seconds=100)]

    outcome = simulate(jobs, Policy(idle_seconds=120), SMALL)

    assert (outcome.never_ran, outcome.started_workers, outcome.waits.longest) == (0, 2, 60)


def test_jobs_share_a_worker_as_far_as_it_has_room() -> None:
    small = [a_job(cpus=3, memory_mib=10_000) for _ in range(4)]
    alone = [a_job(cpus=3, memory_mib=10_000, exclusive=True) for _ in range(4)]

    assert simulate(small, Policy(), SMALL).peak_workers == 2
    assert simulate(alone, Policy(), SMALL).peak_workers == 4


def test_a_job_over_several_nodes_starts_when_all_are_there() -> None:
    outcome = simulate([a_job(nodes=3)], Policy(), SMALL)

    assert (outcome.peak_workers, outcome.waits.longest) == (3, 60)
    assert outcome.busy_seconds == 3 * 600


def test_at_the_limit_jobs_take_turns_and_all_run() -> None:
    jobs = [a_job(seconds=HOUR) for _ in range(6)]

    outcome = simulate(jobs, Policy(max_workers=2), SMALL)

    assert (outcome.peak_workers, outcome.never_ran) == (2, 0)
    assert outcome.waits.longest == 60 + 2 * HOUR


def test_who_has_more_priority_goes_first() -> None:
    jobs = [a_job(seconds=1000), a_job(seconds=10, at=1), a_job(seconds=10, at=2, priority=9)]

    outcome = simulate(jobs, Policy(max_workers=1), SMALL)

    # The urgent one, which came last, starts when the first ends, at 1060; the other 10 s after.
    assert outcome.waits.longest == 1060 + 10 - 1


def test_each_shape_may_take_its_own_time_to_come() -> None:
    fast = simulate([a_job()], Policy(), SMALL, boots={"general-small": 1})
    slow = simulate([a_job()], Policy(), SMALL, boot_seconds=300)

    assert (fast.waits.longest, slow.waits.longest) == (1, 300)


def test_what_no_shape_holds_never_runs_and_costs_nothing() -> None:
    outcome = simulate([a_job(cpus=500), a_job(gpus=1)], Policy(), SMALL)

    assert (outcome.jobs, outcome.never_ran, outcome.cost_micros) == (2, 2, 0)


def test_limits_that_let_nothing_start_end_the_simulation() -> None:
    jobs = [a_job(nodes=3), a_job(at=50)]

    assert simulate(jobs, Policy(max_workers=0), SMALL).never_ran == 2
    assert simulate(jobs, Policy(max_workers=2), SMALL).never_ran == 1


def test_workers_that_are_always_kept_cost_until_the_end() -> None:
    policy = Policy(minimum={"general-small": 2})

    outcome = simulate([a_job(at=HOUR, seconds=HOUR)], policy, SMALL)

    assert (outcome.started_workers, outcome.waits.longest) == (2, 0)
    assert outcome.cost_micros == 100 * 2 * outcome.seconds


def test_a_shape_without_a_price_makes_the_cost_unknown() -> None:
    shapes = {"general-small": replace(SMALL["general-small"], price=Price())}

    assert simulate([a_job()], Policy(), shapes).cost_micros is None


def test_no_jobs_cost_nothing() -> None:
    outcome = simulate([], Policy(), SMALL)

    assert (outcome.cost_micros, outcome.waits.mean, outcome.peak_workers) == (0, 0, 0)


# --- made-up queues


def test_a_seed_means_a_queue() -> None:
    assert synthetic(200, 7) == synthetic(200, 7) != synthetic(200, 8)


def test_a_made_up_queue_has_as_many_jobs_as_asked_for_in_the_days_asked_for() -> None:
    jobs = synthetic(3000, 1, days=3)

    assert len(jobs) == 3000
    assert [job.at for job in jobs] == sorted(job.at for job in jobs)
    assert 2 * DAY < jobs[-1].at < 3 * DAY
    assert min(job.seconds for job in jobs) > 0


MANY = {
    **SMALL,
    "general-large": a_shape("general-large", cpus=31, memory_mib=120_000, vcpus=32),
    "memory-small": a_shape("memory-small", family=Family.MEMORY, memory_mib=60_000),
}

queues = st.lists(
    st.builds(
        Arrival,
        at=st.integers(0, 5000),
        seconds=st.integers(1, 5000),
        priority=st.integers(0, 3),
        need=st.builds(
            Need,
            nodes=st.integers(1, 3),
            cpus=st.integers(1, 40),
            memory_mib=st.integers(0, 130_000),
            exclusive=st.booleans(),
        ),
    ),
    max_size=30,
)


@settings(max_examples=60, deadline=None)
@given(queues, st.integers(0, 8), st.sampled_from(Rule), st.integers(0, 600))
def test_any_queue_ends_and_every_second_of_a_worker_is_accounted_for(
    jobs: list[Arrival], most: int, rule: Rule, idle: int
) -> None:
    policy = Policy(max_workers=most, rule=rule, idle_seconds=idle)

    outcome = simulate(jobs, policy, MANY)

    assert outcome == simulate(jobs, policy, MANY)
    assert outcome.peak_workers <= most
    seconds = outcome.busy_seconds + outcome.idle_seconds + outcome.warming_seconds
    assert outcome.cost_micros == 100 * seconds
    impossible = sum(job.need.cpus > 31 or job.need.memory_mib > 120_000 for job in jobs)
    too_wide = sum(job.need.nodes > most for job in jobs)
    assert outcome.never_ran >= max(impossible, too_wide)
    if most >= 3:
        assert outcome.never_ran == impossible


@pytest.mark.parametrize("rule", Rule)
def test_every_possible_job_of_a_made_up_day_runs(rule: Rule) -> None:
    big = {"general-xlarge": a_shape("general-xlarge", cpus=63, memory_mib=260_000)}

    outcome = simulate(synthetic(300, 3), Policy(rule=rule), {**MANY, **big})

    assert outcome.never_ran == 0

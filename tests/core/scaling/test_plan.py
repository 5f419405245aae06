from datetime import timedelta

import pytest

from clusterra.core.scaling.fleet import Phase, Shortage
from clusterra.core.scaling.plan import Cause
from clusterra.core.scaling.policy import Rule
from clusterra.core.scaling.shapes import Purchase, table
from tests.builders import NOON, a_job
from tests.core.scaling.worlds import GIB, SHAPES, a_worker, planned, usd_per_hour

LONG_AGO = NOON - timedelta(hours=1)
SHORT = Shortage(until=NOON + timedelta(minutes=5), why="no capacity")


# --- growing, by family


@pytest.mark.parametrize(
    ("gib_per_cpu", "shape"),
    [(0, "compute-small"), (3, "compute-medium"), (4, "general-small"), (6, "general-medium"),
     (7, "memory-small")],
)  # fmt: skip
def test_a_job_goes_to_the_family_of_its_memory_per_cpu(gib_per_cpu: int, shape: str) -> None:
    decided = planned([a_job(cpus=7, memory_mib=7 * gib_per_cpu * GIB)])

    assert decided.desired == {shape: 1}


def test_the_biggest_waiting_job_gives_its_family_the_size() -> None:
    decided = planned(
        [a_job(1, cpus=40, memory_mib=0), *(a_job(id, cpus=1, memory_mib=0) for id in range(2, 25))]
    )

    assert decided.desired == {"compute-xlarge": 1}
    (change,) = decided.changes
    assert change.reason == "24 waiting jobs need up to 40 CPUs"
    assert change.refused == ("compute-large: a job needs 40 CPUs, it offers 31",)


def test_jobs_are_packed_into_workers_of_that_size() -> None:
    decided = planned([a_job(id, cpus=10, memory_mib=10 * 4 * GIB) for id in range(1, 5)])

    assert decided.desired == {"general-medium": 4}
    assert decided.waits[1].sentence == (
        "4 jobs need 10 CPUs and 40 GiB each; 4 general-medium are starting"
    )
    assert (decided.waits[1].cause, decided.waits[1].workers) == (Cause.WARMING, 4)


def test_a_family_without_a_size_that_fits_gives_way_to_the_next() -> None:
    decided = planned([a_job(cpus=60, memory_mib=170 * GIB)])

    assert decided.desired == {"general-xlarge": 1}
    (change,) = decided.changes
    assert "compute: no amd64 size of it holds 60 CPUs and 170 GiB" in change.refused


def test_a_constraint_limits_the_shapes() -> None:
    jobs = [a_job(1, features="arm64"), a_job(2, features="general-large"), a_job(3, features="a&")]
    decided = planned(jobs)

    assert decided.desired == {"compute-xs-arm": 1, "general-large": 1}
    assert decided.waits[3].cause is Cause.NEVER
    assert "no shape satisfies the constraint 'a&'" in decided.waits[3].sentence


def test_the_preferred_architecture_comes_first() -> None:
    assert planned([a_job()], architectures=("arm64", "amd64")).desired == {"compute-xs-arm": 1}

    named = planned([a_job(features="arm64")], architectures=("amd64",))
    assert not named.desired
    assert "another architecture than amd64" in named.waits[1].sentence


def test_gpus_are_given_by_model_and_each_job_the_smallest_that_has_as_many() -> None:
    decided = planned(
        [
            a_job(1, gpus=1),
            a_job(2, gpus=1, gpu_model="A10G"),
            a_job(3, gpus=4, gpu_model="l4"),
            a_job(4, gpus=8, gpu_model="h100", cpus=100),
        ]
    )
    assert decided.desired == {
        "gpu-a10g-x1": 1,
        "gpu-h100-x8": 1,
        "gpu-l4-x4": 1,
        "gpu-t4-x1": 1,
    }


def test_a_job_over_several_nodes_gets_as_many_workers() -> None:
    decided = planned([a_job(1, cpus=24, nodes_wanted=4, memory_mib=0), a_job(2, cpus=1)])

    assert decided.desired == {"compute-small": 4}


def test_jobs_over_several_nodes_share_them() -> None:
    jobs = [a_job(id, cpus=6, nodes_wanted=2, memory_mib=0) for id in (1, 2, 3)]

    assert planned(jobs).desired == {"compute-xs": 6}
    assert planned(jobs, [a_worker("compute-large", Phase.WARMING)] * 2).desired == {
        "compute-large": 2
    }


def test_a_job_that_shares_with_nobody_gets_workers_to_itself() -> None:
    jobs = [a_job(1, exclusive=True), a_job(2, exclusive=True), a_job(3, cpus=1, memory_mib=100)]

    assert planned(jobs).desired == {"compute-xs": 3}
    assert planned(jobs[:1], [a_worker("compute-xs", busy=True)]).desired == {"compute-xs": 2}


def test_tasks_without_a_number_of_nodes_are_spread_where_no_node_holds_them() -> None:
    decided = planned([a_job(cpus=128, tasks=128, memory_mib=0)])
    assert decided.desired == {"compute-xlarge": 3}
    assert "43 CPUs on each of 3 nodes" in decided.waits[1].sentence

    bound = planned([a_job(cpus=128, tasks=128, nodes_most=2, memory_mib=0)])
    assert bound.waits[1].cause is Cause.NEVER


# --- what is there already


def test_waiting_jobs_fill_the_room_there_is_before_anything_is_started() -> None:
    busy = a_worker("general-large", busy=True, cpus=4, memory_mib=16 * GIB)
    decided = planned([a_job(id, cpus=2, memory_mib=8 * GIB) for id in (1, 2, 3)], [busy])

    assert decided.desired == {"general-large": 1, "general-xs": 1}
    assert [decided.waits[id].cause for id in (1, 2, 3)] == [Cause.ROOM, Cause.ROOM, Cause.WARMING]
    assert decided.waits[1].sentence.endswith("there is room, Slurm starts them next")
    assert decided.waits[3].sentence == "1 job needs 2 CPUs and 8 GiB; 1 general-xs is starting"


def test_workers_on_their_way_count() -> None:
    decided = planned([a_job()], [a_worker("general-xs", Phase.WARMING)])

    assert decided.desired == {"general-xs": 1}
    assert not decided.changes
    assert decided.waits[1].cause is Cause.WARMING


@pytest.mark.parametrize("phase", [Phase.LEAVING, Phase.CLOSED])
def test_workers_that_take_no_jobs_give_no_room_and_are_kept_while_busy(phase: Phase) -> None:
    decided = planned([a_job()], [a_worker("compute-xs", phase, busy=True)])

    assert decided.desired == {"compute-xs": 2}


def test_a_worker_of_a_shape_that_is_in_the_table_no_more_still_gives_room() -> None:
    old = a_worker("general-large", name="old")
    shapes = {name: shape for name, shape in SHAPES.items() if name != "general-large"}
    decided = planned([a_job()], [old], shapes=shapes)

    assert decided.desired == {"general-large": 1}


# --- the rule `cheapest`


def test_cheapest_mixes_shapes_where_that_costs_less() -> None:
    jobs = [a_job(id, cpus=16, memory_mib=60 * GIB) for id in range(1, 8)]
    by_family, cheapest = planned(jobs), planned(jobs, rule=Rule.CHEAPEST)

    assert by_family.desired == {"general-large": 7}
    assert usd_per_hour(cheapest.desired) < usd_per_hour(by_family.desired)
    assert {wait.cause for wait in cheapest.waits.values()} == {Cause.WARMING}


def test_cheapest_puts_thin_and_fat_jobs_together() -> None:
    thin = [a_job(id, cpus=15, memory_mib=15 * GIB) for id in range(1, 41)]
    fat = [a_job(id, cpus=15, memory_mib=15 * 7 * GIB) for id in range(41, 81)]
    decided = planned([*thin, *fat], rule=Rule.CHEAPEST, max_workers=1000)

    assert decided.desired == {"general-xlarge": 20}


def test_cheapest_plans_without_prices_too() -> None:
    decided = planned([a_job()], rule=Rule.CHEAPEST, shapes=table())

    assert decided.desired == {"compute-xs": 1}


# --- limits


def test_at_the_most_workers_the_first_in_line_are_served() -> None:
    jobs = [
        a_job(1, cpus=3, priority=1),
        a_job(2, cpus=3, priority=9),
        a_job(3, cpus=3, priority=5),
    ]
    decided = planned(jobs, max_workers=2)

    assert decided.desired == {"compute-xs": 2}
    assert decided.waits[1].cause is Cause.MAX_WORKERS
    assert decided.waits[1].sentence == (
        "1 job needs 3 CPUs and 4 GiB; the cluster is at its limit of 2 workers"
    )


def test_existing_workers_count_towards_what_may_be_spent() -> None:
    price = SHAPES["compute-xs"].usd_per_hour(Purchase.ON_DEMAND) or 0
    workers = [a_worker("compute-xs", busy=True, cpus=0)]
    jobs = [a_job(id, cpus=3) for id in (1, 2)]

    assert planned(jobs, workers, max_usd_per_hour=2 * price).desired == {"compute-xs": 2}
    decided = planned(jobs, workers, max_usd_per_hour=2 * price - 1)
    assert decided.desired == {"compute-xs": 1}
    assert decided.waits[1].cause is Cause.MAX_SPEND
    assert "another compute-xs at $0.17/h would go beyond the limit of $0.34/h" in (
        decided.waits[1].sentence
    )


def test_what_has_no_known_price_is_not_bought_where_spending_is_limited() -> None:
    decided = planned([a_job()], shapes=table(), max_usd_per_hour=10**9)

    assert not decided.desired
    assert "price of compute-xs is not known" in decided.waits[1].sentence


def test_a_giant_that_cannot_be_paid_does_not_keep_the_small_ones_waiting() -> None:
    giant, small = a_job(1, cpus=60, memory_mib=0), a_job(2, cpus=1, memory_mib=0)
    decided = planned([giant, small], max_usd_per_hour=200_000)

    assert decided.desired == {"compute-xs": 1}
    assert decided.waits[1].cause is Cause.MAX_SPEND


def test_a_job_over_more_nodes_than_there_may_be_takes_no_worker() -> None:
    decided = planned([a_job(cpus=6, nodes_wanted=3)], max_workers=2)

    assert not decided.desired
    assert decided.waits[1].cause is Cause.MAX_WORKERS


def test_the_minimum_is_kept_whatever_the_queue() -> None:
    decided = planned([], minimum={"general-small": 2})
    assert decided.desired == {"general-small": 2}
    assert decided.changes[0].reason == "2 workers of it are always kept"

    assert planned([], minimum={"general-small": 5}, max_workers=3).desired == {"general-small": 3}


# --- shortages


def test_a_shape_that_did_not_come_is_avoided_and_that_is_said() -> None:
    decided = planned([a_job(cpus=16)], shortages={"compute-large": SHORT})

    assert decided.desired == {"compute-xlarge": 1}
    assert (
        "compute-large: did not come lately (no capacity); left alone until 12:05 UTC"
        in decided.changes[0].refused
    )
    assert decided.next_at == SHORT.until


def test_where_nothing_else_fits_the_shortage_is_the_cause() -> None:
    job = a_job(gpus=8, gpu_model="b200")
    decided = planned([job], shortages={"gpu-b200-x8": SHORT})

    assert not decided.desired
    assert decided.waits[1].cause is Cause.SHORTAGE
    assert "gpu-b200-x8 did not come lately, tried again at 12:05 UTC" in decided.waits[1].sentence


def test_a_shortage_that_is_over_counts_no_more() -> None:
    over = Shortage(until=NOON, why="no capacity")

    assert planned([a_job(cpus=16)], shortages={"compute-large": over}).desired == {
        "compute-large": 1
    }


# --- shrinking


def test_a_worker_leaves_when_it_was_idle_for_long_enough() -> None:
    fresh = a_worker("compute-xs", name="fresh", since=NOON - timedelta(seconds=100))
    stale = a_worker("compute-xs", name="stale", since=NOON - timedelta(seconds=120))
    decided = planned([], [fresh, stale])

    assert decided.leave == ("stale",)
    assert decided.desired == {"compute-xs": 2}
    assert decided.next_at == NOON + timedelta(seconds=20)


def test_a_worker_that_a_waiting_job_needs_does_not_leave() -> None:
    workers = [a_worker("compute-xs", name=name, since=LONG_AGO) for name in ("a", "b")]
    decided = planned([a_job()], workers)

    assert len(decided.leave) == 1


def test_the_one_that_had_work_last_is_kept_for_the_minimum() -> None:
    old = a_worker("compute-xs", name="old", since=LONG_AGO)
    new = a_worker("compute-xs", name="new", since=LONG_AGO + timedelta(minutes=1))

    assert planned([], [new, old], minimum={"compute-xs": 1}).leave == ("old",)


def test_a_drained_worker_is_counted_out_once_it_is_idle() -> None:
    workers = [
        a_worker("compute-xs", Phase.LEAVING),
        a_worker("compute-xs", Phase.LEAVING, busy=True),
    ]
    decided = planned([], workers)

    assert decided.desired == {"compute-xs": 1}
    (change,) = decided.changes
    assert (change.before, change.after) == (2, 1)
    assert change.reason == "1 worker had nothing to do and has been drained"


# --- bad input


def test_what_no_shape_can_hold_waits_with_the_nearest_named() -> None:
    decided = planned(
        [
            a_job(1, cpus=4, memory_mib=1024 * GIB),
            a_job(2, gpus=1, gpu_model="v100"),
            a_job(3, cpus=64),
        ]
    )
    assert not decided.desired
    assert {wait.cause for wait in decided.waits.values()} == {Cause.NEVER}
    assert decided.waits[1].sentence == (
        "1 job needs 4 CPUs and 1,024 GiB; no shape can hold that; "
        "the nearest is memory-xlarge with 63 CPUs and 510 GiB"
    )
    assert "there is no shape with v100 GPUs" in decided.waits[2].sentence
    assert decided.waits[3].shape == "compute-xlarge"


def test_a_hundred_thousand_tasks_stay_within_the_limit() -> None:
    decided = planned([a_job(1, cpus=1, array_id=1, array_waiting="0-99999", memory_mib=0)])

    assert decided.desired == {"compute-xs": 64}
    assert decided.waits[1].cause is Cause.MAX_WORKERS
    assert decided.waits[1].sentence.startswith("99,808 jobs need 1 CPU each")


def test_a_cluster_without_shapes_starts_nothing() -> None:
    decided = planned([a_job()], shapes={})

    assert not decided.desired
    assert decided.waits[1].cause is Cause.NEVER


def test_where_no_shape_has_gpus_a_job_that_wants_one_is_told_just_that() -> None:
    without = {name: shape for name, shape in SHAPES.items() if not shape.gpus}

    wait = planned([a_job(1, gpus=1)], shapes=without).waits[1]

    assert wait.cause is Cause.NEVER
    assert "no shape with GPUs" in wait.sentence

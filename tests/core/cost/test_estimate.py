"""What a job would cost: on the worker the planner gives it, at its share."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from clusterra.core.clusters import Node, Partition
from clusterra.core.cost.bill import Stretch, bill
from clusterra.core.cost.estimate.asked import asked
from clusterra.core.cost.estimate.ground import Ground
from clusterra.core.cost.estimate.priced import price
from clusterra.core.cost.prices import Book, Quote, Source
from clusterra.core.cost.stints import Stint
from clusterra.core.jobs.job import Job
from clusterra.core.jobs.request import JobRequest
from clusterra.core.scaling.fleet import Phase, Shortage, Worker
from clusterra.core.scaling.plan import Cause
from clusterra.core.scaling.policy import Policy, Rule
from clusterra.core.scaling.shapes import Price, table
from tests.builders import NOON, a_job

PRICES = {
    "c7i.xlarge": Price(on_demand=178_500),
    "c7i.2xlarge": Price(on_demand=357_000),
    "m7i.2xlarge": Price(on_demand=403_200, spot=150_000),
    "m7i.4xlarge": Price(on_demand=806_400),
}
SHAPES = {
    name: shape
    for name, shape in table(PRICES).items()
    if name in ("compute-xs", "compute-small", "general-small", "general-medium", "memory-small")
}
BOOK = Book(table_at=NOON)
SCALED = Ground(now=NOON, book=BOOK, shapes=SHAPES)


def a_wish(**known: Any) -> Job:
    return a_job(0, **({"cpus": 2, "memory_mib": 8 * 1024, "tasks": 1} | known))


def ready(name: str, shape: str, **free: int) -> Worker:
    room: dict[str, Any] = {
        "cpus": SHAPES[shape].cpus,
        "memory_mib": SHAPES[shape].memory_mib,
    } | free
    return Worker(name=name, shape=shape, phase=Phase.READY, since=NOON, **room)


def test_the_planner_says_which_worker_and_the_bill_says_which_share() -> None:
    found = price(a_wish(time_limit_minutes=90), SCALED)

    assert (found.shape, found.workers, found.starts) == ("general-small", 1, 1)
    assert found.worker_usd_per_hour == 403_200
    assert found.usd_per_hour == 403_200 * 2 // 7
    assert found.total == found.usd_per_hour * 90 * 60 // 3600
    assert (found.basis, found.estimate) == ("m7i.2xlarge on-demand (table)", True)
    assert found.cause is Cause.WARMING


def test_what_is_said_before_is_what_the_bill_says_after() -> None:
    job = a_wish(time_limit_minutes=60)
    found = price(job, SCALED)
    shape = SHAPES[found.shape]
    stint = Stint(
        since=NOON, cpus=shape.cpus, memory_mib=shape.memory_mib, quote=found.quote, gpus=0
    )
    run = Stretch(
        since=NOON,
        until=NOON + timedelta(hours=1),
        nodes=("w1",),
        cpus=job.cpus,
        memory_mib=job.memory_mib,
        gpus=0,
    )

    assert bill([run], {"w1": (stint,)}).micros == found.total


def test_the_policys_rule_counts() -> None:
    cheapest = replace(SCALED, policy=Policy(rule=Rule.CHEAPEST))

    assert price(a_wish(cpus=2, memory_mib=6 * 1024), SCALED).shape == "compute-xs"
    assert price(a_wish(), cheapest).shape == "compute-small"


def test_a_worker_that_has_room_is_priced_at_what_it_costs() -> None:
    cheap = Quote(usd_per_hour=70_000, source=Source.EDGE, at=NOON, basis="m7i.2xlarge spot")
    ground = replace(
        SCALED,
        workers=(ready("general-small-1", "general-small"),),
        stints={"general-small-1": (Stint(since=NOON, cpus=7, memory_mib=31_440, quote=cheap),)},
    )

    found = price(a_wish(), ground)

    assert (found.node, found.starts, found.cause) == ("general-small-1", 0, Cause.ROOM)
    assert found.usd_per_hour == 20_000
    assert found.estimate is False


def test_a_worker_without_room_for_it_is_not_taken() -> None:
    ground = replace(SCALED, workers=(ready("general-small-1", "general-small", cpus=1),))

    assert price(a_wish(), ground).starts == 1


def test_of_several_workers_with_room_the_cheapest_counts() -> None:
    ground = replace(
        SCALED,
        workers=(ready("general-small-1", "general-small"), ready("c", "compute-small")),
    )

    assert price(a_wish(memory_mib=1024), ground).node == "c"


def test_an_array_costs_all_its_tasks_and_per_hour_those_that_may_run_at_a_time() -> None:
    one = price(a_wish(time_limit_minutes=60), SCALED)

    found = price(a_wish(time_limit_minutes=60, array_waiting="1-100%10"), SCALED)

    assert (found.tasks, found.at_once) == (100, 10)
    assert one.usd_per_hour is not None
    assert one.total is not None
    assert found.usd_per_hour == one.usd_per_hour * 10
    assert found.total == one.total * 100
    assert found.for_seconds(1800) == one.usd_per_hour * 1800 // 3600 * 100


def test_who_shares_with_nobody_pays_all_of_its_workers() -> None:
    found = price(a_wish(exclusive=True), SCALED)

    assert found.usd_per_hour == found.worker_usd_per_hour


def test_several_nodes_cost_as_much_each() -> None:
    found = price(a_wish(cpus=6, memory_mib=24 * 1024, nodes_wanted=3), SCALED)

    assert found.workers == 3
    assert found.usd_per_hour == 403_200 * 2 // 7 * 3


def test_tasks_that_no_worker_holds_are_spread_as_the_planner_spreads_them() -> None:
    found = price(a_wish(cpus=30, memory_mib=30 * 1024, tasks=30), SCALED)

    assert (found.shape, found.workers) == ("general-medium", 2)


def test_without_a_limit_there_is_a_rate_and_no_total() -> None:
    found = price(a_wish(), SCALED)

    assert found.usd_per_hour
    assert found.total is None


def test_a_shape_without_a_price_is_not_known_and_never_nothing() -> None:
    found = price(a_wish(cpus=2, memory_mib=14 * 1024), SCALED)

    assert found.shape == "memory-small"
    assert (found.usd_per_hour, found.total) == (None, None)
    assert found.why_unknown == "No price is known for the shape memory-small."


def test_what_no_shape_holds_says_so_in_the_planners_words() -> None:
    found = price(a_wish(cpus=4000), SCALED)

    assert found.cause is Cause.NEVER
    assert "4,000 CPUs" in found.why_unknown


@pytest.mark.parametrize(
    ("more", "cause"),
    [
        ({"policy": Policy(max_workers=0)}, Cause.MAX_WORKERS),
        ({"policy": Policy(max_usd_per_hour=1)}, Cause.MAX_SPEND),
        (
            {
                "shortages": {
                    name: Shortage(until=NOON + timedelta(hours=1), why="none left")
                    for name in SHAPES
                }
            },
            Cause.SHORTAGE,
        ),
    ],
)
def test_what_may_not_be_started_now_is_priced_all_the_same(
    more: dict[str, Any], cause: Cause
) -> None:
    found = price(a_wish(), replace(SCALED, **more))

    assert (found.cause, found.starts) == (cause, 0)
    assert found.usd_per_hour


# --- where workers are not ours to start


def a_node(name: str, usd_per_hour: int | None = None, **known: Any) -> tuple[Node, Stint]:
    fields: dict[str, Any] = {"cpus": 8, "memory_mib": 32_000, "partitions": ("main",)} | known
    node = Node(name=name, state="IDLE", **fields)
    quote = (
        None
        if usd_per_hour is None
        else Quote(usd_per_hour=usd_per_hour, source=Source.RATES, at=NOON, basis="own rates")
    )
    size: dict[str, Any] = {"cpus": node.cpus, "memory_mib": node.memory_mib, "gpus": node.gpus}
    return node, Stint(since=NOON, quote=quote, why_not=f"{name} has no price", **size)


def foreign(*known: tuple[Node, Stint]) -> Ground:
    return Ground(
        now=NOON,
        book=BOOK,
        nodes=[node for node, _ in known],
        stints={node.name: (stint,) for node, stint in known},
    )


def test_on_a_slurm_of_others_the_cheapest_node_that_can_hold_it_counts() -> None:
    found = price(
        a_wish(),
        foreign(
            a_node("big", 4_000_000, cpus=64, memory_mib=512_000),
            a_node("w1", 800_000),
            a_node("tiny", 10, cpus=1),
            a_node("unpriced"),
        ),
    )

    assert (found.node, found.shape) == ("big", "")
    assert found.usd_per_hour == 4_000_000 * 2 // 64


def test_a_node_that_is_down_is_not_taken() -> None:
    down = a_node("w1", 1)
    broken = replace(down[0], state="DOWN"), down[1]

    assert price(a_wish(), foreign(broken, a_node("w2", 800_000))).node == "w2"


def test_a_node_in_use_has_a_price_and_is_not_free() -> None:
    full = a_node("w1", 800_000, cpus_used=8)

    found = price(a_wish(), foreign(full))

    assert found.usd_per_hour == 204_800
    assert found.node == ""


def test_too_few_nodes_say_how_many_there_are() -> None:
    found = price(a_wish(nodes_wanted=3, cpus=6), foreign(a_node("w1", 1), a_node("w2", 1)))

    assert found.why_unknown == (
        "It needs 2 CPUs and 3 GiB on each of 3 nodes; 2 nodes here can give that now."
    )


def test_no_price_anywhere_says_why() -> None:
    assert price(a_wish(), foreign(a_node("w1"))).why_unknown == "w1 has no price"


def test_the_nodes_it_insists_on_are_those_it_is_priced_on() -> None:
    ground = foreign(a_node("w1", 800_000), a_node("w2", 1_600_000))

    assert price(a_wish(nodes_required="w2"), ground).node == "w2"


def test_a_constraint_and_a_partition_leave_only_the_nodes_that_have_them() -> None:
    ground = foreign(
        a_node("w1", 1, features=("old",)), a_node("w2", 2, features=("new",), partitions=("x",))
    )

    assert price(a_wish(features="new", partition="x"), ground).node == "w2"
    assert price(a_wish(features="new"), ground).usd_per_hour is None


# --- what is asked for, as Slurm would show it


def number(value: int) -> dict[str, object]:
    return {"set": True, "number": value}


PARTITIONS = (
    Partition(name="main", state="UP", default=True, max_minutes=None),
    Partition(name="short", state="UP", max_minutes=60),
)


@pytest.mark.parametrize(
    ("properties", "job"),
    [
        ({}, {"cpus": 1, "nodes_wanted": 1, "tasks": 1, "partition": "main"}),
        ({"cpus_per_task": 4}, {"cpus": 4}),
        ({"tasks": 8, "cpus_per_task": 2}, {"cpus": 16, "tasks": 8, "nodes_most": 0}),
        ({"nodes": "2-4"}, {"nodes_wanted": 2, "nodes_most": 4, "tasks": 2, "cpus": 2}),
        ({"tasks": 8, "tasks_per_node": 2}, {"nodes_wanted": 4, "cpus": 8}),
        ({"memory_per_node": number(4096), "nodes": "2"}, {"memory_mib": 8192}),
        ({"memory_per_cpu": number(1024), "cpus_per_task": 4}, {"memory_mib": 4096}),
        (
            {"tres_per_node": "gres/gpu:a10g:2", "nodes": "2"},
            {"gpus": 4, "gpu_model": "a10g"},
        ),
        ({"tres_per_job": "gres/gpu:3"}, {"gpus": 3, "gpu_model": ""}),
        ({"tres_per_task": "cpu=2,gres/gpu=1", "tasks": 4}, {"gpus": 4}),
        ({"tres_per_job": "gres/gpu:2", "cpus_per_tres": "gres/gpu:6"}, {"cpus": 12}),
        ({"shared": ["none"]}, {"exclusive": True}),
        ({"time_limit": number(30)}, {"time_limit_minutes": 30}),
        ({"time_limit": {"set": True, "infinite": True}}, {"time_limit_minutes": None}),
        ({"partition": "short"}, {"partition": "short", "time_limit_minutes": 60}),
        ({"array": "0-9%2"}, {"array_waiting": "0-9%2"}),
    ],
)
def test_what_is_asked_for_is_read_as_slurm_reads_it(
    properties: dict[str, Any], job: dict[str, Any]
) -> None:
    request = JobRequest(script="#!/bin/sh\n", properties=properties)

    found = asked(request, PARTITIONS, user="ana", at=NOON)

    assert {name: getattr(found, name) for name in job} == job

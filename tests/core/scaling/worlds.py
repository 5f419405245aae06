"""Queues and fleets to plan with, drawn by hypothesis."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from hypothesis import strategies as st

from clusterra.adapters.ec2_prices import prices
from clusterra.core.jobs.job import Job
from clusterra.core.scaling.demand import demand
from clusterra.core.scaling.fleet import Phase, Shortage, Worker
from clusterra.core.scaling.plan import Plan, plan
from clusterra.core.scaling.policy import Policy, Rule
from clusterra.core.scaling.shapes import Purchase, Shape, table
from tests.builders import NOON, a_job

SHAPES = table(prices("us-east-1"))
GIB = 1024


def a_worker(shape: str, phase: Phase = Phase.READY, **facts: Any) -> Worker:
    """Return a worker with all its room, unless told otherwise."""
    known = SHAPES[shape]
    room: dict[str, Any] = (
        {"cpus": known.cpus, "memory_mib": known.memory_mib, "gpus": known.gpus}
        if phase in (Phase.READY, Phase.WARMING)
        else {}
    )
    defaults: dict[str, Any] = {
        "since": NOON,
        "name": "" if phase is Phase.WARMING else f"w-{shape}",
    }
    return Worker(shape=shape, phase=phase, **(defaults | room | facts))


def planned(
    jobs: Sequence[Job],
    workers: Sequence[Worker] = (),
    shortages: Mapping[str, Shortage] | None = None,
    shapes: Mapping[str, Shape] = SHAPES,
    **policy: Any,
) -> Plan:
    return plan(demand(jobs), workers, Policy(**policy), shapes, shortages or {}, NOON)


def fed_back(workers: Sequence[Worker], decided: Plan) -> list[Worker]:
    """Return the fleet after a plan was carried out, and before any of it has come."""
    kept = [each for each in workers if each.phase is not Phase.LEAVING or each.busy]
    there = [each.shape for each in kept]
    for shape, number in decided.desired.items():
        kept += [a_worker(shape, Phase.WARMING)] * (number - there.count(shape))
    return kept


def usd_per_hour(fleet: Mapping[str, int], purchase: Purchase = Purchase.ON_DEMAND) -> int:
    return sum(
        number * (SHAPES[name].usd_per_hour(purchase) or 0) for name, number in fleet.items()
    )


@st.composite
def jobs(draw: st.DrawFn, most: int = 25) -> list[Job]:
    number = draw(st.integers(0, most))
    return [_job(draw, id) for id in range(1, number + 1)]


def _job(draw: st.DrawFn, id: int) -> Job:
    cpus = draw(st.sampled_from((0, 1, 1, 2, 3, 4, 7, 8, 12, 16, 31, 32, 48, 63, 64, 100)))
    nodes = draw(st.sampled_from((1, 1, 1, 1, 2, 3)))
    gpus = draw(st.sampled_from((0, 0, 0, 0, 0, 1, 2, 8, 16)))
    array = draw(st.sampled_from(("", "", "", "", "0-9", "1-40%7")))
    return a_job(
        id,
        cpus=cpus * nodes,
        memory_mib=max(cpus, 1) * nodes * draw(st.sampled_from((0, 500, 1800, 3000, 5000, 9000))),
        nodes_wanted=nodes,
        gpus=gpus * nodes,
        gpu_model=draw(st.sampled_from(("", "a10g", "A100", "v100"))) if gpus else "",
        exclusive=draw(st.integers(0, 7)) == 0,
        tasks=draw(st.sampled_from((1, 1, 1, 100))),
        features=draw(
            st.sampled_from(("",) * 6 + ("arm64", "memory&large", "nowhere", "((", "xs"))
        ),
        priority=draw(st.sampled_from((None, 10, 20, 30))),
        array_id=id if array else None,
        array_waiting=array,
    )


@st.composite
def fleets(draw: st.DrawFn, most: int = 10) -> list[Worker]:
    fleet = []
    for number in range(draw(st.integers(0, most))):
        name = draw(
            st.sampled_from(("compute-xs", "general-large", "memory-xlarge", "gpu-a10g-x4"))
        )
        shape, phase = SHAPES[name], draw(st.sampled_from(Phase))
        busy = phase is not Phase.WARMING and draw(st.booleans())
        used = draw(st.integers(0, shape.cpus)) if busy else 0
        usable = phase in (Phase.READY, Phase.WARMING)
        fleet.append(
            Worker(
                shape=name,
                phase=phase,
                name="" if phase is Phase.WARMING else f"w{number}",
                since=NOON - timedelta(seconds=draw(st.sampled_from((0, 60, 119, 120, 500)))),
                busy=busy,
                cpus=(shape.cpus - used) * usable,
                memory_mib=shape.memory_mib * (shape.cpus - used) // shape.cpus * usable,
                gpus=shape.gpus * usable,
            )
        )
    return fleet


policies = st.builds(
    Policy,
    rule=st.sampled_from(Rule),
    max_workers=st.sampled_from((0, 1, 3, 10, 64, 1000)),
    max_usd_per_hour=st.sampled_from((None, None, 0, 500_000, 5_000_000, 40_000_000)),
    idle_seconds=st.sampled_from((0, 120)),
    purchase=st.sampled_from(Purchase),
    architectures=st.sampled_from((("amd64", "arm64"), ("arm64", "amd64"), ("arm64",))),
    minimum=st.dictionaries(
        st.sampled_from(("compute-xs", "general-large", "no-such-shape")), st.integers(0, 3)
    ),
)

shortages = st.dictionaries(
    st.sampled_from(
        ("compute-xs", "general-large", "general-xlarge", "gpu-a10g-x1", "memory-large")
    ),
    st.builds(
        Shortage,
        until=st.sampled_from((NOON - timedelta(minutes=1), NOON + timedelta(minutes=5))),
        why=st.just("no capacity"),
    ),
)

"""Which machines are paid for: what Slurm shows and the edge says, made one."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from clusterra.core.clusters import Node
from clusterra.core.cost.presence import Presence
from clusterra.core.cost.prices import Book, Source
from clusterra.core.cost.stints import Stints
from clusterra.core.scaling.edge import EdgeReport, EdgeWorker, Machine
from clusterra.core.scaling.fleet import Phase
from clusterra.core.scaling.shapes import Family, Price, Purchase, Shape
from tests.builders import NOON

EARLIER = NOON - timedelta(minutes=2)
SHAPE = Shape(
    name="general-small",
    family=Family.GENERAL,
    size="small",
    arch="amd64",
    vcpus=8,
    memory_gib=32,
    cpus=7,
    memory_mib=31_440,
    types=("m7i.2xlarge",),
    price=Price(on_demand=400_000),
)
NODE = Node(name="general-small-1", state="IDLE", cpus=7, memory_mib=31_440)
WORKER = EdgeWorker(name="general-small-1", shape="general-small", since=EARLIER)
MACHINE = Machine(
    name="claim-1",
    instance_type="m7i.2xlarge",
    lifecycle="on-demand",
    zone="us-east-1a",
    billable_from=EARLIER,
)
BOOK = Book(table={"m7i.2xlarge": Price(on_demand=403_200)}, table_at=NOON)


def a_report(**known: Any) -> EdgeReport:
    return EdgeReport(at=NOON, agent="edge", version="1", **known)


def presence(*nodes: Node, report: EdgeReport | None, **known: Any) -> Presence:
    fields: dict[str, Any] = {
        "shapes": {SHAPE.name: SHAPE},
        "book": BOOK,
        "purchase": Purchase.ON_DEMAND,
        "now": NOON,
    }
    return Presence(nodes=nodes, report=report, **(fields | known))


def test_a_node_is_paid_for_as_what_slurm_says_it_is() -> None:
    found = presence(NODE, report=a_report(workers=(WORKER,))).stints({})

    (stint,) = found.values()
    assert (stint.phase, stint.cpus, stint.memory_mib) == (Phase.READY, 7, 31_440)
    assert stint.quote is not None
    assert (stint.quote.usd_per_hour, stint.quote.estimate) == (400_000, True)


def test_a_machine_that_is_a_node_has_the_price_of_its_type() -> None:
    there = replace(MACHINE, node=NODE.name)

    found = presence(NODE, report=a_report(machines=(there,))).stints({})

    assert set(found) == {NODE.name}
    quote = found[NODE.name].quote
    assert quote is not None
    assert (quote.usd_per_hour, quote.estimate) == (403_200, False)


def test_a_worker_that_warms_up_is_paid_for_since_it_was_asked_for() -> None:
    found = presence(report=a_report(workers=(WORKER,))).stints({})

    stint = found[WORKER.name]
    assert (stint.phase, stint.since, stint.cpus) == (Phase.WARMING, EARLIER, 7)


def test_a_machine_without_a_node_is_paid_for_since_the_cloud_says_so() -> None:
    found = presence(report=a_report(machines=(MACHINE,))).stints({})

    assert found["claim-1"].phase is Phase.WARMING
    assert found["claim-1"].since == EARLIER
    assert found["claim-1"].quote is not None
    assert found["claim-1"].quote.source is Source.TABLE


def test_a_machine_that_is_not_billed_yet_is_not_there() -> None:
    asked_for = replace(MACHINE, billable_from=None)

    assert presence(report=a_report(machines=(asked_for,))).stints({}) == {}


def test_a_clock_of_the_edge_that_is_ahead_makes_nobody_pay_for_the_future() -> None:
    ahead = replace(WORKER, since=NOON + timedelta(minutes=1))

    assert presence(report=a_report(workers=(ahead,))).stints({})[WORKER.name].since == NOON


def test_an_agent_that_is_not_heard_takes_nothing_back() -> None:
    heard = presence(NODE, report=a_report(machines=(replace(MACHINE, node=NODE.name),)))
    coming = presence(report=a_report(machines=(MACHINE,)))
    before: dict[str, Stints] = {
        NODE.name: (heard.stints({})[NODE.name],),
        "claim-1": (coming.stints({})["claim-1"],),
    }

    found = presence(NODE, report=None, shapes={}, now=NOON + timedelta(hours=1)).stints(before)

    assert found[NODE.name].quote == before[NODE.name][0].quote
    assert found["claim-1"].phase is Phase.WARMING


def test_a_machine_that_the_agent_no_longer_names_is_gone() -> None:
    coming = presence(report=a_report(machines=(MACHINE,)))
    before = {"claim-1": (coming.stints({})["claim-1"],)}

    assert presence(report=a_report(machines=())).stints(before) == {}


def test_a_node_that_nobody_knows_the_price_of_says_why() -> None:
    (stint,) = presence(replace(NODE, name="w1"), report=None, shapes={}).stints({}).values()

    assert stint.quote is None
    assert "w1" in stint.why_not


def test_a_node_that_slurm_cannot_use_is_still_paid_for() -> None:
    down = replace(NODE, state="DOWN")

    assert presence(down, report=a_report(workers=(WORKER,))).stints({})[NODE.name].phase is (
        Phase.CLOSED
    )

"""What two looks at a cluster's nodes tell."""

from dataclasses import replace

from clusterra.core.clusters import Node
from clusterra.core.events.nodes import Known, Use, derive_nodes
from tests.builders import NOON

W1 = Node(name="w1", state="IDLE", cpus=4)


def told(old: Known | None, *nodes: Node) -> list[str]:
    _, drafts = derive_nodes(old, nodes, cluster="cluslab1", now=NOON)
    return [f"{draft.fact.type} {draft.subject}" for draft in drafts]


def known(**nodes: Use) -> Known:
    return Known(nodes=nodes)


def test_what_is_there_at_the_first_look_is_no_event() -> None:
    after, drafts = derive_nodes(None, [W1], cluster="cluslab1", now=NOON)

    assert drafts == []
    assert after == known(w1=Use.ACTIVE)


def test_a_new_node_registers_and_takes_jobs() -> None:
    assert told(known(), W1) == ["node.registered node/w1", "node.active node/w1"]


def test_a_node_that_works_as_before_is_no_event() -> None:
    assert told(known(w1=Use.ACTIVE), replace(W1, state="ALLOCATED")) == []


def test_a_node_drains_goes_down_and_comes_back() -> None:
    draining = replace(W1, flags=("DRAIN",), reason="disk")
    dead = replace(W1, state="DOWN", flags=("NOT_RESPONDING",))

    assert told(known(w1=Use.ACTIVE), draining) == ["node.drained node/w1"]
    assert told(known(w1=Use.DRAINED), dead) == ["node.down node/w1"]
    assert told(known(w1=Use.DOWN), W1) == ["node.resumed node/w1"]


def test_a_node_that_slurm_no_longer_knows_is_gone() -> None:
    assert told(known(w1=Use.ACTIVE, w2=Use.DOWN), W1) == ["node.terminated node/w2"]

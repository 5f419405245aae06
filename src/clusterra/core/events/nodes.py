"""Two observations of a cluster's nodes → the events between them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from clusterra.core.clusters import Node
from clusterra.core.events.catalogue import nodes as facts
from clusterra.core.events.derive import SLURM
from clusterra.core.events.event import Draft
from clusterra.core.ids import uuid8

_DOWN_STATES = frozenset({"DOWN", "ERROR", "UNKNOWN", "FAIL"})
_DOWN_FLAGS = frozenset({"NOT_RESPONDING", "POWERED_DOWN", "POWERING_DOWN", "FAIL"})


class Use(StrEnum):
    """What a node is good for, which is less than all that Slurm says of it."""

    ACTIVE = "active"
    DRAINED = "drained"
    DOWN = "down"


def use(node: Node) -> Use:
    if node.state in _DOWN_STATES or not _DOWN_FLAGS.isdisjoint(node.flags):
        return Use.DOWN
    return Use.DRAINED if "DRAIN" in node.flags else Use.ACTIVE


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """The nodes as the ledger has told of them."""

    nodes: Mapping[str, Use] = field(default_factory=dict)


def derive_nodes(
    old: Known | None, nodes: Iterable[Node], *, cluster: str, now: datetime
) -> tuple[Known, list[Draft]]:
    """Return what is known now and what happened. What is there at the first look is no event."""
    after = {node.name: use(node) for node in nodes}
    if old is None:
        return Known(nodes=after), []
    told: list[facts.NodeFact] = []
    for node in nodes:
        told += _happened(node, old.nodes.get(node.name), after[node.name])
    told += [facts.NodeTerminated(node=name) for name in old.nodes if name not in after]
    return Known(nodes=after), [_draft(fact, cluster, now) for fact in told]


def _happened(node: Node, before: Use | None, after: Use) -> Iterable[facts.NodeFact]:
    if before is None:
        yield facts.NodeRegistered(
            node=node.name, cpus=node.cpus, memory_mib=node.memory_mib, gpus=node.gpus
        )
    if before is after:
        return
    match after:
        case Use.DOWN:
            yield facts.NodeDown(node=node.name, reason=node.reason)
        case Use.DRAINED:
            yield facts.NodeDrained(node=node.name, reason=node.reason)
        case Use.ACTIVE:
            kind = facts.NodeActive if before is None else facts.NodeResumed
            yield kind(node=node.name)


def _draft(fact: facts.NodeFact, cluster: str, now: datetime) -> Draft:
    return Draft(
        id=uuid8(cluster, "node", fact.node, fact.type, now.timestamp()),
        fact=fact,
        at=now,
        actor=SLURM,
        subject=f"node/{fact.node}",
        correlation=f"node/{fact.node}",
    )

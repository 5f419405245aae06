"""Which node a job would get where nodes are not ours to start: of those there are."""

from collections.abc import Sequence
from dataclasses import replace

from clusterra.core.clusters import Node
from clusterra.core.cost.estimate.ground import Ground, Place, Room, need_of, present, share
from clusterra.core.cost.stints import Stint
from clusterra.core.hosts import expand
from clusterra.core.jobs.job import Job
from clusterra.core.scaling import sentences
from clusterra.core.scaling.demand import Need
from clusterra.core.scaling.features import satisfied
from clusterra.core.scaling.fleet import Phase
from clusterra.core.scaling.muster import busy, phase_of
from clusterra.core.scaling.serves import settled
from clusterra.core.scaling.shapes import Family, Shape
from clusterra.core.words import count


def on_theirs(job: Job, ground: Ground) -> Place:
    """Return the cheapest node that can hold it: one that has room now, if there are enough."""
    asked = need_of(job)
    named = expand(job.nodes_required)
    nodes = [
        node
        for node in ground.nodes
        if (not named or node.name in named)
        and phase_of(node) is not Phase.CLOSED
        and (not asked.partition or not node.partitions or asked.partition in node.partitions)
        and satisfied(asked.features, frozenset(node.features))
    ]
    # A thousand nodes are seldom more than a few kinds.
    kinds = {(node.cpus, node.memory_mib, node.gpus): node for node in nodes}
    need = settled(replace(asked, features="", gpu_model=""), map(_as_shape, kinds.values()))
    whole = [node for node in nodes if Room(node.cpus, node.memory_mib, node.gpus).holds(need)]
    if len(whole) < need.nodes:
        there = count(len(whole), "node") if whole else "no node"
        why = f"It needs {sentences.size(need)}; {there} here can give that now."
        return Place(need=need, stint=Stint(since=ground.now, why_not=why))
    free = [node for node in whole if _free(node).holds(need)]
    best = _cheapest(free if len(free) >= need.nodes else whole, need, ground)
    stint = present(best.name, ground) or Stint(
        since=ground.now, why_not=f"{best.name} has not been looked at yet."
    )
    return Place(need=need, stint=stint, node=best.name if len(free) >= need.nodes else "")


def _cheapest(nodes: Sequence[Node], need: Need, ground: Ground) -> Node:
    """Return the one whose share costs least; of those alike the smallest."""

    def cost(node: Node) -> tuple[bool, int, int, int, str]:
        stint = present(node.name, ground)
        if stint is None or stint.quote is None:
            return True, 0, node.cpus, node.memory_mib, node.name
        amount = share(need, stint, stint.quote.usd_per_hour)
        return False, amount, node.cpus, node.memory_mib, node.name

    return min(nodes, key=cost)


def _as_shape(node: Node) -> Shape:
    return Shape(
        name=node.name,
        family=Family.GPU if node.gpus else Family.GENERAL,
        size="",
        arch="",
        vcpus=node.cpus,
        memory_gib=0,
        cpus=node.cpus,
        memory_mib=node.memory_mib,
        gpus=node.gpus,
    )


def _free(node: Node) -> Room:
    return Room(
        node.cpus - node.cpus_used,
        node.memory_mib - node.memory_used_mib,
        node.gpus - node.gpus_used,
        busy=busy(node),
        open=phase_of(node) is Phase.READY,
    )

"""Who is there: what the edge reports, what Slurm shows and what was asked for, made one.

None of the three knows it all. The edge knows a worker before Slurm does, Slurm knows what
runs on it, and only we know which were asked for and have not appeared anywhere.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from clusterra.core.clusters import Node
from clusterra.core.events.nodes import Use, use
from clusterra.core.scaling.edge import EdgeReport, EdgeWorker
from clusterra.core.scaling.fleet import Fleet, Phase, Worker
from clusterra.core.scaling.shapes import Shape

OURS = "clusterra: "
"""What the reason of a node begins with that we drained. What anybody else drained is theirs."""

_BUSY_STATES = frozenset({"ALLOCATED", "MIXED"})
_BUSY_FLAGS = frozenset({"COMPLETING", "PLANNED"})
_WILLING = frozenset({"DYNAMIC_NORM", "DYNAMIC_FUTURE"})
"""Of nodes that registered by themselves. Others belong to slurm.conf, and are nobody's to delete."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Muster:
    workers: tuple[Worker, ...]
    """By shape and name; those that are on their way out, by our own order, left out."""

    departed: tuple[str, ...] = ()
    """Nodes of Slurm whose machine went because we said so: to be forgotten."""

    vanished: tuple[str, ...] = ()
    """Nodes of Slurm whose machine went by itself."""


def muster(
    report: EdgeReport,
    nodes: Sequence[Node],
    fleet: Fleet,
    shapes: Mapping[str, Shape],
    *,
    missed: frozenset[str],
    now: datetime,
) -> Muster:
    """Count everybody once. `missed` are nodes that the edge should have named by now."""
    by_name = {node.name: node for node in nodes}
    present = [each for each in _present(report, nodes, fleet, shapes) if each.shape in shapes]
    going = {each.name for each in present if _is_going(each, fleet)}
    workers = [
        _worker(each, by_name.get(each.name), shapes[each.shape], now)
        for each in present
        if each.name not in going
    ]
    workers += _awaited(workers, fleet, shapes, now)
    gone = [
        node.name
        for node in nodes
        if report.nodes is not None
        and node.name not in report.nodes
        and not _WILLING.isdisjoint(node.flags)
    ]
    departed = {name for name in gone if name in fleet.retire}
    return Muster(
        workers=tuple(sorted(workers, key=lambda each: (each.shape, each.name, each.since))),
        departed=tuple(sorted(departed)),
        vanished=tuple(sorted(set(gone) & missed - departed)),
    )


def busy(node: Node) -> bool:
    """Say whether anything runs there, or is about to."""
    return (
        node.state in _BUSY_STATES
        or not _BUSY_FLAGS.isdisjoint(node.flags)
        or node.cpus_used > 0
        or node.memory_used_mib > 0
        or node.gpus_used > 0
    )


def drained_by_us(node: Node) -> bool:
    return "DRAIN" in node.flags and node.reason.startswith(OURS)


def _is_going(worker: EdgeWorker, fleet: Fleet) -> bool:
    # A name is free again once its worker has gone; a later worker of that name stays.
    decided = fleet.decided_at
    return worker.name in fleet.retire and (decided is None or worker.since <= decided)


def _worker(seen: EdgeWorker, node: Node | None, shape: Shape, now: datetime) -> Worker:
    if node is None:
        return Worker(
            name=seen.name,
            shape=shape.name,
            phase=Phase.WARMING,
            since=seen.since,
            cpus=shape.cpus,
            memory_mib=shape.memory_mib,
            gpus=shape.gpus,
        )
    phase, works = phase_of(node), busy(node)
    open_to_jobs = phase is Phase.READY
    return Worker(
        name=seen.name,
        shape=shape.name,
        phase=phase,
        since=now if works else max(seen.since, node.last_busy or seen.since),
        busy=works,
        cpus=node.cpus - node.cpus_used if open_to_jobs else 0,
        memory_mib=node.memory_mib - node.memory_used_mib if open_to_jobs else 0,
        gpus=node.gpus - node.gpus_used if open_to_jobs else 0,
    )


def phase_of(node: Node) -> Phase:
    if "DRAIN" in node.flags:
        return Phase.LEAVING if drained_by_us(node) else Phase.CLOSED
    # One that has just been let in again does not respond for a moment; one that is lost
    # is called DOWN by Slurm itself.
    if use(node) is Use.DOWN and node.state not in ("IDLE", *_BUSY_STATES):
        return Phase.CLOSED
    return Phase.READY


def _awaited(
    workers: Iterable[Worker], fleet: Fleet, shapes: Mapping[str, Shape], now: datetime
) -> list[Worker]:
    """Return those that were asked for and nobody has seen, as if they were warming."""
    there = Counter(worker.shape for worker in workers)
    awaited: list[Worker] = []
    for name, wanted in fleet.desired.items():
        missing = wanted - there[name]
        if missing <= 0 or name not in shapes:
            continue
        shape, asked = shapes[name], fleet.asked.get(name, ())
        moments = (*asked, *([fleet.decided_at or now] * missing))[:missing]
        awaited += [
            Worker(
                shape=name,
                phase=Phase.WARMING,
                since=moment,
                cpus=shape.cpus,
                memory_mib=shape.memory_mib,
                gpus=shape.gpus,
            )
            for moment in moments
        ]
    return awaited


def _present(
    report: EdgeReport, nodes: Sequence[Node], fleet: Fleet, shapes: Mapping[str, Shape]
) -> Iterable[EdgeWorker]:
    """Return the edge's workers; where it tells only of machines, work out which shape each is."""
    if report.workers is not None:
        return report.workers
    if report.nodes is None:
        return ()
    machines = sorted(
        (node for node in nodes if node.name in report.nodes),
        key=lambda node: (-node.gpus, -node.memory_mib, -node.cpus, node.name),
    )
    wanted = Counter(fleet.desired)
    return [
        EdgeWorker(
            name=node.name,
            shape=_shape_of(node, shapes, wanted),
            since=node.booted_at or report.at,
            ready=True,
        )
        for node in machines
    ]


def _shape_of(node: Node, shapes: Mapping[str, Shape], wanted: Counter[str]) -> str:
    """Return the largest shape that fits on the machine, one that was asked for before others."""
    fitting = [
        shape
        for shape in shapes.values()
        if shape.cpus <= node.cpus
        and shape.memory_mib <= node.memory_mib
        and shape.gpus <= node.gpus
        and (shape.gpus > 0) == (node.gpus > 0)
    ]
    if not fitting:
        return ""
    chosen = max(
        fitting,
        key=lambda each: (wanted[each.name] > 0, each.gpus, each.memory_mib, each.cpus, each.name),
    )
    wanted[chosen.name] -= 1
    return chosen.name

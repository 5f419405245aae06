"""What a job would cost, before it is submitted.

The planner itself is asked, with this one job, which worker it would get; its share of that
worker is worked out as for a bill. Where workers are not ours to start, it is the cheapest
node there is that can hold the job. What it could cost instead is in `alternatives.py`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from clusterra.core.clusters import Node, Partition
from clusterra.core.cost.bill import Stretch, share_of
from clusterra.core.cost.charges import HOUR
from clusterra.core.cost.prices import Book, Quote
from clusterra.core.cost.stints import Stint, Stints
from clusterra.core.hosts import expand
from clusterra.core.jobs.job import Job
from clusterra.core.scaling import sentences
from clusterra.core.scaling.demand import Demand, Line, Need, array_tasks, demand
from clusterra.core.scaling.edge import Offering
from clusterra.core.scaling.features import satisfied
from clusterra.core.scaling.fleet import Phase, Shortage, Worker
from clusterra.core.scaling.muster import busy, phase_of
from clusterra.core.scaling.plan import Cause, Plan, Wait, plan
from clusterra.core.scaling.policy import Policy
from clusterra.core.scaling.serves import matches, settled
from clusterra.core.scaling.shapes import Family, Shape
from clusterra.core.seen import Sight, Unseen
from clusterra.core.words import count

NO_PRICES = Unseen("No agent has told prices.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Priced:
    """A job on the workers that it would get. Amounts in millionths of a dollar."""

    shape: str = ""
    """Of the workers; empty where they are not ours to choose."""

    node: str = ""
    """The node that was priced, if such a worker is there; empty if one would be started."""

    workers: int = 1
    """How many it is spread over."""

    tasks: int = 1
    """Of an array; amounts are for all of them together."""

    at_once: int = 1
    """How many of them may run at a time."""

    usd_per_hour: int | None = None
    """While it runs, at its share of each worker; of an array, as many tasks as may run at a
    time. None if it is not known."""

    worker_usd_per_hour: int | None = None
    """One whole worker."""

    minutes: int | None = None
    """Its time limit; None is no limit."""

    total: int | None = None
    """If it takes all its time; None if it has no limit, or no price is known."""

    basis: str = ""
    """What was priced, and who said so."""

    estimate: bool = False
    """Nobody pays it: see `Quote`."""

    quote: Quote | None = None
    why_unknown: str = ""
    cause: Cause | None = None
    """What it would wait for, as far as the fleet is concerned; ROOM is for nothing. None where
    workers are not ours to start."""

    starts: int = 0
    """How many workers would be started for it."""

    said: str = ""
    """What the planner says of it."""

    def for_seconds(self, seconds: float) -> int | None:
        """Return what it costs if each task takes that long; None if no price is known."""
        if self.usd_per_hour is None:
            return None
        return self.usd_per_hour // self.at_once * int(seconds) // HOUR * self.tasks


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What a job could run on, and what is known about prices there."""

    now: datetime
    book: Book
    policy: Policy = field(default_factory=Policy)
    shapes: Mapping[str, Shape] = field(default_factory=dict)
    """Empty where workers are not ours to start."""

    workers: Sequence[Worker] = ()
    shortages: Mapping[str, Shortage] = field(default_factory=dict)
    nodes: Sequence[Node] = ()
    partitions: Sequence[Partition] = ()
    stints: Mapping[str, Stints] = field(default_factory=dict)
    offerings: Sight[tuple[Offering, ...]] = NO_PRICES


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """One of the workers it would get."""

    need: Need
    """Of each of them."""

    stint: Stint
    shape: str = ""
    node: str = ""
    cause: Cause | None = None
    starts: int = 0
    said: str = ""


def price(job: Job, ground: Ground) -> Priced:
    """Say which workers a waiting job would get, and what its share of them costs."""
    named = bool(job.nodes_required)
    place = _ours(job, ground) if ground.shapes and not named else _theirs(job, ground)
    tasks, at_once = _tasks(job)
    if isinstance(place, Priced):
        return replace(place, tasks=tasks, at_once=at_once, minutes=job.time_limit_minutes)
    found = Priced(
        shape=place.shape,
        node=place.node,
        workers=place.need.nodes,
        tasks=tasks,
        at_once=at_once,
        minutes=job.time_limit_minutes,
        cause=place.cause,
        starts=place.starts,
        said=place.said,
    )
    quote = place.stint.quote
    if quote is None:
        return replace(found, why_unknown=place.stint.why_not)
    rate = _share(place.need, place.stint, quote.usd_per_hour) * place.need.nodes
    minutes = job.time_limit_minutes
    return replace(
        found,
        usd_per_hour=rate * at_once,
        worker_usd_per_hour=quote.usd_per_hour,
        total=None if not minutes else rate * minutes * 60 // HOUR * tasks,
        basis=f"{quote.basis} ({quote.source})",
        estimate=quote.estimate,
        quote=quote,
    )


def need_of(job: Job) -> Need:
    """Return what it asks for on each node, whatever else it may wait for."""
    return _line(job).need


def _line(job: Job) -> Line:
    alone = replace(
        job, array_waiting="", nodes_required="", reservation="", dependency="", reason=""
    )
    return demand([alone]).lines[0]


def _tasks(job: Job) -> tuple[int, int]:
    """Return how many tasks there are, and how many may run at a time."""
    if not job.array_waiting:
        return 1, 1
    return array_tasks(job.array_waiting.partition("%")[0]), array_tasks(job.array_waiting)


# --- where workers are ours to start


def _ours(job: Job, ground: Ground) -> _Place | Priced:
    line = _line(job)
    made = plan(
        Demand(lines=(line,)),
        ground.workers,
        ground.policy,
        ground.shapes,
        ground.shortages,
        ground.now,
    )
    wait = made.waits[job.id]
    need = settled(line.need, ground.shapes.values())
    if wait.cause is Cause.ROOM and (here := _here(need, wait, ground)):
        return here
    shape = ground.shapes.get(wait.shape)
    if wait.cause is Cause.NEVER or shape is None:
        return Priced(why_unknown=wait.sentence, cause=wait.cause, said=wait.sentence)
    said = ground.book.of_shape(shape, ground.policy.purchase, ground.offerings)
    return _Place(
        need=need,
        stint=_stint(shape, said, ground.now),
        shape=shape.name,
        cause=wait.cause,
        starts=_grown(made, shape.name),
        said=wait.sentence,
    )


def _here(need: Need, wait: Wait, ground: Ground) -> _Place | None:
    """Return the cheapest of the workers that have room for it."""
    found: list[tuple[bool, int, str, _Place]] = []
    for worker in ground.workers:
        shape = ground.shapes.get(worker.shape)
        if worker.phase is not Phase.READY or shape is None or not matches(need, shape):
            continue
        free = _Room(worker.cpus, worker.memory_mib, worker.gpus, busy=worker.busy)
        # A shape that may not be started any more is waited for until it has room.
        if not free.holds(need) and not wait.shape:
            continue
        stint = _present(worker.name, ground) or _stint(
            shape,
            ground.book.of_shape(shape, ground.policy.purchase, ground.offerings),
            ground.now,
        )
        price = stint.quote.usd_per_hour if stint.quote else 0
        place = _Place(
            need=need,
            stint=stint,
            shape=shape.name,
            node=worker.name,
            cause=Cause.ROOM,
            said=wait.sentence,
        )
        gpus = bool(shape.gpus and not need.gpus)
        found.append((gpus, _share(need, stint, price), worker.name, place))
    return min(found, key=lambda each: each[:3])[3] if found else None


def _grown(made: Plan, shape: str) -> int:
    return next((each.after - each.before for each in made.changes if each.shape == shape), 0)


# --- where they are not


def _theirs(job: Job, ground: Ground) -> _Place | Priced:
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
    kinds = [_as_shape(node) for node in nodes]
    need = settled(replace(asked, features="", gpu_model=""), kinds)
    whole = [node for node in nodes if _Room(node.cpus, node.memory_mib, node.gpus).holds(need)]
    if len(whole) < need.nodes:
        there = count(len(whole), "node") if whole else "no node"
        return Priced(
            why_unknown=f"It needs {sentences.size(need)} on {count(need.nodes, 'node')}; "
            f"{there} here can give that now."
        )
    free = [node for node in whole if _free(node).holds(need)]
    best = min(
        free if len(free) >= need.nodes else whole,
        key=lambda node: _cost_there(need, node, ground),
    )
    stint = _present(best.name, ground) or Stint(
        since=ground.now, why_not=f"{best.name} has not been looked at yet."
    )
    return _Place(need=need, stint=stint, node=best.name if len(free) >= need.nodes else "")


def _cost_there(need: Need, node: Node, ground: Ground) -> tuple[bool, int, int, int, str]:
    stint = _present(node.name, ground)
    quote = stint.quote if stint else None
    cost = _share(need, stint, quote.usd_per_hour) if stint and quote else 0
    return quote is None, cost, node.cpus, node.memory_mib, node.name


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


def _free(node: Node) -> "_Room":
    return _Room(
        node.cpus - node.cpus_used,
        node.memory_mib - node.memory_used_mib,
        node.gpus - node.gpus_used,
        busy=busy(node),
        open=phase_of(node) is Phase.READY,
    )


@dataclass(frozen=True, slots=True)
class _Room:
    cpus: int
    memory_mib: int
    gpus: int
    busy: bool = False
    open: bool = True

    def holds(self, need: Need) -> bool:
        return (
            self.open
            and need.cpus <= self.cpus
            and need.memory_mib <= self.memory_mib
            and need.gpus <= self.gpus
            and not (need.exclusive and self.busy)
        )


# --- shares


def _present(name: str, ground: Ground) -> Stint | None:
    last = ground.stints.get(name, ())[-1:]
    return last[0] if last and last[0].until is None else None


def _stint(shape: Shape, said: Quote | str, now: datetime) -> Stint:
    known = Stint(since=now, cpus=shape.cpus, memory_mib=shape.memory_mib, gpus=shape.gpus)
    return replace(known, quote=said) if isinstance(said, Quote) else replace(known, why_not=said)


def _share(need: Need, stint: Stint, price: int) -> int:
    """Return what its part of one worker costs: as on the bill."""
    if need.exclusive:
        return price
    one = Stretch(
        since=stint.since,
        until=stint.since,
        nodes=("one",),
        cpus=need.cpus,
        memory_mib=need.memory_mib,
        gpus=need.gpus,
    )
    return share_of(price, one, stint)

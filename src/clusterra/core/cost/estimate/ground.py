"""What a job could run on, and its part of one machine."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache

from clusterra.core.clusters import Node, Partition
from clusterra.core.cost.bill import Stretch, share_of
from clusterra.core.cost.prices import Book, Quote
from clusterra.core.cost.stints import Stint, Stints
from clusterra.core.jobs.job import Job
from clusterra.core.scaling.demand import Line, Need, demand
from clusterra.core.scaling.edge import Offering
from clusterra.core.scaling.fleet import Shortage, Worker
from clusterra.core.scaling.plan import Cause
from clusterra.core.scaling.policy import Policy
from clusterra.core.scaling.shapes import Shape
from clusterra.core.seen import Sight, Unseen

NO_PRICES = Unseen("No agent has told prices.")


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
class Place:
    """One of the workers it would get."""

    need: Need
    """Of each of them."""

    stint: Stint
    shape: str = ""
    node: str = ""
    cause: Cause | None = None
    starts: int = 0
    said: str = ""


@dataclass(frozen=True, slots=True)
class Room:
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


def need_of(job: Job) -> Need:
    """Return what it asks for on each node."""
    return line_of(job).need


def line_of(job: Job) -> Line:
    """Return it as what waits, alone: one task, whatever else it may wait for."""
    alone = replace(
        job, array_waiting="", nodes_required="", reservation="", dependency="", reason=""
    )
    return demand([alone]).lines[0]


def present(name: str, ground: Ground) -> Stint | None:
    last = ground.stints.get(name, ())[-1:]
    return last[0] if last and last[0].until is None else None


def stint_of(shape: Shape, said: Quote | str, now: datetime) -> Stint:
    known = Stint(since=now, cpus=shape.cpus, memory_mib=shape.memory_mib, gpus=shape.gpus)
    return replace(known, quote=said) if isinstance(said, Quote) else replace(known, why_not=said)


def share(need: Need, stint: Stint, price: int) -> int:
    """Return what its part of one worker costs: as on the bill."""
    if need.exclusive:
        return price
    wants = (need.cpus, need.memory_mib, need.gpus)
    return _part(price, wants, (stint.cpus, stint.memory_mib, stint.gpus))


@lru_cache(maxsize=4096)
def _part(price: int, wants: tuple[int, int, int], whole: tuple[int, int, int]) -> int:
    """Work out the same once: a thousand nodes are seldom more than a few kinds."""
    cpus, memory_mib, gpus = wants
    one = Stretch(
        since=_ANY, until=_ANY, nodes=("one",), cpus=cpus, memory_mib=memory_mib, gpus=gpus
    )
    cpus, memory_mib, gpus = whole
    return share_of(price, one, Stint(since=_ANY, cpus=cpus, memory_mib=memory_mib, gpus=gpus))


_ANY = datetime.min.replace(tzinfo=UTC)
"""A share is the same at any time."""

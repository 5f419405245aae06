"""Workers that are only pretended, and jobs that are placed on them as Slurm would.

A job is put on the oldest worker that has room for it; who has more priority, then who
came first, chooses first; what does not fit lets others pass. Time is whole seconds, said
by whoever runs the clock (`simulate.py`).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

from clusterra.core.scaling.demand import Demand, Line, Need
from clusterra.core.scaling.fleet import Phase
from clusterra.core.scaling.serves import holds, matches, settled
from clusterra.core.scaling.shapes import Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """A job as a simulation knows it."""

    at: int
    """When it is submitted, in seconds from the beginning."""

    need: Need
    seconds: int
    """How long it runs once it has started."""

    priority: int = 0


@dataclass(slots=True, kw_only=True, eq=False)
class Pretended:
    """A worker, and what is free on it."""

    name: str
    shape: Shape
    asked_at: int
    phase: Phase = Phase.WARMING
    ready_at: int = 0
    idle_since: int = 0
    busy_since: int = 0
    busy_seconds: int = 0
    """Up to when it was last idle."""

    jobs: int = 0
    cpus: int = field(init=False)
    memory_mib: int = field(init=False)
    gpus: int = field(init=False)

    def __post_init__(self) -> None:
        self.cpus = self.shape.cpus
        self.memory_mib = self.shape.memory_mib
        self.gpus = self.shape.gpus

    def has_room(self, need: Need) -> bool:
        return (
            self.phase is Phase.READY
            and self.cpus >= need.cpus
            and self.memory_mib >= need.memory_mib
            and self.gpus >= need.gpus
            and not (need.exclusive and self.jobs)
        )

    def take(self, need: Need, now: int) -> tuple[int, int, int]:
        """Give a job its part, and return that part."""
        part = (need.cpus, need.memory_mib, need.gpus)
        if need.exclusive:
            part = (self.cpus, self.memory_mib, self.gpus)
        if not self.jobs:
            self.busy_since = now
        self.jobs += 1
        self._add(part, -1)
        return part

    def give_back(self, part: tuple[int, int, int], now: int) -> None:
        self.jobs -= 1
        self._add(part, 1)
        if not self.jobs:
            self.busy_seconds += now - self.busy_since
            self.idle_since = now

    def _add(self, part: tuple[int, int, int], sign: int) -> None:
        cpus, memory_mib, gpus = part
        self.cpus += sign * cpus
        self.memory_mib += sign * memory_mib
        self.gpus += sign * gpus


@dataclass(frozen=True, slots=True)
class Started:
    job: Arrival
    on: Sequence[Pretended]
    parts: Sequence[tuple[int, int, int]]


Turn = tuple[int, int, int]
"""A job's place in the queue: less its priority, when it came, its own number. No two are alike."""


@dataclass(slots=True, kw_only=True)
class Queue:
    """What waits, by need: all jobs of a need fit, or none does."""

    shapes: Mapping[str, Shape]
    lines: dict[Need, list[tuple[Turn, Arrival]]] = field(default_factory=dict)
    _suits: dict[tuple[Need, str], bool] = field(default_factory=dict)
    _settled: dict[Need, Need] = field(default_factory=dict)

    def add(self, number: int, job: Arrival) -> Need:
        """Take a job in; return what it is waiting for, cut as the planner cuts it."""
        need = self._settled.get(job.need)
        if need is None:
            need = self._settled[job.need] = settled(job.need, self.shapes.values())
        heappush(self.lines.setdefault(need, []), ((-job.priority, job.at, number), job))
        return need

    def __len__(self) -> int:
        return sum(map(len, self.lines.values()))

    def demand(self) -> Demand:
        """Return it as a planner reads it. Each need's jobs stand there under the id of the first."""
        heads = sorted((jobs[0][0], need) for need, jobs in self.lines.items())
        return Demand(
            lines=tuple(
                Line(need=need, jobs=((turn[2], len(self.lines[need])),)) for turn, need in heads
            )
        )

    def start(
        self,
        workers: Sequence[Pretended],
        changed: Collection[Pretended],
        fresh: Collection[Need],
        now: int,
    ) -> Iterator[Started]:
        """Start what fits. Jobs that were looked at before need only look where something changed."""
        heads = [(jobs[0][0], need) for need, jobs in self.lines.items()]
        heapify(heads)
        while heads:
            _, need = heappop(heads)
            where = workers if need in fresh or need.nodes > 1 else changed
            found = self._rooms(need, where)[: need.nodes]
            if len(found) < need.nodes:
                continue
            jobs = self.lines[need]
            _, job = heappop(jobs)
            yield Started(job, found, [worker.take(need, now) for worker in found])
            if jobs:
                heappush(heads, (jobs[0][0], need))
            else:
                del self.lines[need]

    def _rooms(self, need: Need, workers: Iterable[Pretended]) -> list[Pretended]:
        rooms = [
            worker for worker in workers if worker.has_room(need) and self._suit(need, worker.shape)
        ]
        if need.gpus:
            return rooms
        # Who needs no GPU takes a worker that has some only if there is no other.
        return sorted(rooms, key=lambda worker: worker.shape.gpus)

    def _suit(self, need: Need, shape: Shape) -> bool:
        """Say whether such jobs may run on workers of that shape at all."""
        key = (need, shape.name)
        if key not in self._suits:
            self._suits[key] = matches(need, shape) and holds(need, shape)
        return self._suits[key]

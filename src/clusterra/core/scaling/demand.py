"""What waiting jobs need of the fleet.

Ten thousand waiting jobs are seldom more than a few kinds: jobs that ask for the same are
counted together, and planning takes as long as there are kinds. What Slurm's reasons mean to a
person is not here, only which of them more workers would not help.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from operator import attrgetter

from clusterra.core.jobs.job import Job, JobState


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What one job asks for, on each of its nodes. Jobs with equal needs are planned as one."""

    nodes: int = 1
    cpus: int = 1
    memory_mib: int = 0
    gpus: int = 0
    gpu_model: str = ""
    """Empty takes any."""

    exclusive: bool = False
    """Shares its nodes with nobody."""

    features: str = ""
    """Slurm's constraint, as `arm64&large`."""

    partition: str = ""
    tasks: int = 1
    """Equal parts by which it may be spread over more nodes; 1 is not at all."""

    nodes_most: int = 0
    """The most nodes it may be spread over; 0 is no limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Waiting jobs with one need, the first to be served first."""

    need: Need
    jobs: tuple[tuple[int, int], ...]
    """Each entry's job id and how many jobs it stands for: an array that waits is one entry."""

    @property
    def count(self) -> int:
        return sum(number for _, number in self.jobs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    lines: Sequence[Line] = ()
    """By the highest priority in each, highest first."""

    set_aside: Mapping[int, str] = field(default_factory=dict)
    """Waiting jobs that more workers would not start, and Slurm's word for what they wait for."""


def demand(jobs: Iterable[Job]) -> Demand:
    """Sort the waiting jobs into lines; jobs that do not wait are passed over."""
    alike: dict[tuple[object, ...], list[Job]] = {}
    set_aside: dict[int, str] = {}
    for job in jobs:
        if job.state is not JobState.PENDING:
            continue
        if aside := _not_capacity(job):
            set_aside[job.id] = aside
        else:
            alike.setdefault(_asks(job), []).append(job)
    kinds: dict[Need, list[Job]] = {}
    for some in alike.values():
        kinds.setdefault(_need(some[0]), []).extend(some)
    for some in kinds.values():
        # Twice by a number: a hundred thousand pairs to sort by would keep the memory busy.
        some.sort(key=_id)
        some.sort(key=_priority, reverse=True)
    lines = sorted(kinds.items(), key=lambda kind: (-_priority(kind[1][0]), kind[1][0].id))
    return Demand(
        lines=tuple(
            Line(need=need, jobs=tuple((job.id, _number(job)) for job in some))
            for need, some in lines
        ),
        set_aside=dict(sorted(set_aside.items())),
    )


_id = attrgetter("id")


def _priority(job: Job) -> int:
    return job.priority or 0


def _number(job: Job) -> int:
    return array_tasks(job.array_waiting) if job.array_waiting else 1


_asks = attrgetter(
    "nodes_wanted",
    "cpus",
    "memory_mib",
    "gpus",
    "gpu_model",
    "exclusive",
    "features",
    "partition",
    "tasks",
    "nodes_most",
)


def _need(job: Job) -> Need:
    """Cut what a job asks for in all into what it asks for on each node."""
    nodes = max(job.nodes_wanted, 1)
    spreads = job.tasks > nodes and (job.nodes_most == 0 or job.nodes_most > nodes)
    return Need(
        nodes=nodes,
        cpus=max(-(-job.cpus // nodes), 1),
        memory_mib=-(-job.memory_mib // nodes),
        gpus=-(-job.gpus // nodes),
        gpu_model=job.gpu_model.lower(),
        exclusive=job.exclusive,
        features=job.features,
        partition=job.partition,
        tasks=job.tasks if spreads else 1,
        nodes_most=job.nodes_most if spreads else 0,
    )


@lru_cache(maxsize=4096)
def array_tasks(waiting: str) -> int:
    """Count the tasks of `1,3-9:2%2` that may run at a time.

    Slurm shortens long lists with three dots, which are counted as one task: the rest is seen
    when those that are listed have started.
    """
    listed, _, throttle = waiting.partition("%")
    number = 0
    for part in listed.strip("[]").split(","):
        bounds, _, step = part.partition(":")
        first, dash, last = bounds.partition("-")
        if dash and first.isdecimal() and last.isdecimal():
            number += len(range(int(first), int(last) + 1, max(int(step or 1), 1)))
        elif part:
            number += 1
    most = int(throttle) if throttle.isdecimal() else 0
    return max(min(number, most) if most else number, 1)


_ASIDE = re.compile(
    r"""Dependency | .*Held | .*_held | BeginTime | DeadLine | Licenses | Reservation | Cleaning
    | Assoc | QOS | Account | Invalid | JobArrayTaskLimit | BurstBuffer | Power | Fed | Prolog
    | Partition(?:Down|Inactive|TimeLimit|NodeLimit) | TimeLimit | MaxMemPerLimit | MaxRequeue
    | MaxPoweredUp | MpiPorts | SystemFailure | .*Limit$ | .*NotAllowed""",
    re.VERBOSE | re.IGNORECASE,
)
"""Slurm's reasons that have nothing to do with how many nodes there are. Whatever is not in here
is taken to be about capacity: `Resources`, `Priority`, `ReqNodeNotAvail`, `BadConstraints` (no node
there is has the feature), `PartitionConfig` (it has no node), and codes of a Slurm to come."""


@lru_cache(maxsize=1024)
def _aside(reason: str) -> bool:
    return _ASIDE.match(reason) is not None


def _not_capacity(job: Job) -> str:
    """Return what a job waits for that no worker of ours would bring, or nothing."""
    if job.reason and _aside(job.reason):
        return job.reason
    if job.priority == 0:
        return "JobHeldUser"
    if job.dependency:
        return "Dependency"
    if job.reservation:
        return "Reservation"
    # Workers that are started have names of their own: they are none of those it insists on.
    if job.nodes_required:
        return job.reason or "ReqNodeNotAvail"
    return ""

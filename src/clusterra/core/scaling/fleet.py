"""The workers there are, and those that are wanted."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from clusterra.core.change import Kind


class Phase(StrEnum):
    WARMING = "warming"
    """Asked for; Slurm does not know it yet."""

    READY = "ready"
    """Takes jobs."""

    LEAVING = "leaving"
    """Drained by us, to be taken away; takes no new jobs."""

    CLOSED = "closed"
    """Slurm cannot use it, or an admin drained it: not ours to touch, and no room for jobs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    shape: str
    phase: Phase
    name: str = ""
    """Slurm's name of it; empty for one that has only been asked for."""

    since: datetime
    """When it was asked for, while it warms; when it last had something to do, while it is idle."""

    busy: bool = False
    """Runs jobs, or its edge protects it. Such a worker is never taken."""

    cpus: int = 0
    """Free for jobs; so are the next two. Nothing unless it is READY or WARMING."""

    memory_mib: int = 0
    gpus: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortage:
    """A shape that was asked for and did not come: it is left alone for a while."""

    until: datetime
    why: str
    failures: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """What is wanted of the edge: all of it, every time."""

    version: int = 0
    """Grows with every change."""

    desired: Mapping[str, int] = field(default_factory=dict)
    """How many workers of which shape; a shape that is not in here is 0."""

    retire: tuple[str, ...] = ()
    """Which are to go, where it is fewer than there are: drained and idle, by name."""

    decided_at: datetime | None = None
    asked: Mapping[str, tuple[datetime, ...]] = field(default_factory=dict)
    """When each worker was asked for that has not been seen yet, oldest first."""

    shortages: Mapping[str, Shortage] = field(default_factory=dict)


FLEET: Kind[Fleet] = Kind("fleet", Fleet)
"""By cluster."""

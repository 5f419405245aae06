"""What a plan says: what is wanted, and why. How it is found is in `plan.py`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class Cause(StrEnum):
    """Why a waiting job is not running, as far as the fleet is concerned."""

    WARMING = "warming"
    """Workers for it are on their way."""

    ROOM = "room"
    """There is room for it; Slurm starts it next."""

    NEVER = "never"
    """No shape can hold it."""

    MAX_WORKERS = "max-workers"
    MAX_SPEND = "max-spend"
    SHORTAGE = "shortage"
    """The only shapes that could hold it did not come lately."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """What a line of waiting jobs waits for."""

    cause: Cause
    shape: str = ""
    """The one it waits for; for NEVER, the nearest."""

    workers: int = 0
    """How many of them this line waits for."""

    sentence: str = ""
    """For people, in their numbers: "4 jobs need 16 CPUs each; 2 general-large are starting"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resize:
    """One shape of which another number is wanted."""

    shape: str
    before: int
    after: int
    reason: str
    refused: tuple[str, ...] = ()
    """What else was considered, and why not: "general-small: a job needs 12 CPUs, it offers 7"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    desired: Mapping[str, int]
    """How many of each shape, those that stay included. Shapes without any are left out."""

    leave: tuple[str, ...] = ()
    """Workers that have been idle for long enough: to be drained, and counted out once they are."""

    changes: Sequence[Resize] = ()
    waits: Mapping[int, Wait] = field(default_factory=dict)
    """By job id (an array's by the id of its waiting entry), for every job that still waits."""

    next_at: datetime | None = None
    """When time alone will change the plan: a worker's idle time or a shortage will be over."""

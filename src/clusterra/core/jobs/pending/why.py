"""The answer to "why does this job wait?", as a value: a sentence, its chain, what would help.

Every link of the chain rests on rows that anybody can look up: a claim without a row behind
it is not made.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias

from clusterra.core.jobs.forecast import Estimate

Scalar: TypeAlias = str | int | float | bool | None


class Kind(StrEnum):
    """What sort of thing it waits for."""

    CAPACITY = "capacity"
    """The nodes there are, are in use."""

    PROVISIONING = "provisioning"
    """Workers for it are starting."""

    SHORTAGE = "shortage"
    """Workers that could hold it did not come."""

    MAX_WORKERS = "max-workers"
    MAX_SPEND = "max-spend"
    NEVER = "never"
    """Nothing there can be will ever hold it as it is."""

    PRIORITY = "priority"
    SCHEDULER = "scheduler"
    """Slurm has not come round to it."""

    LIMIT = "limit"
    """Of an association or a QOS."""

    PARTITION = "partition"
    DEPENDENCY = "dependency"
    BEGIN_TIME = "begin-time"
    HELD = "held"
    RESERVATION = "reservation"
    LICENCE = "licence"
    FEATURE = "feature"
    NODE = "node"
    """Nodes it needs are down, drained or spoken for."""

    ARRAY = "array"
    DEADLINE = "deadline"
    ACCOUNT = "account"
    """Its account or QOS is not valid here."""

    STORAGE = "storage"
    PROLOG = "prolog"
    CLEANING = "cleaning"
    LAUNCH = "launch"
    """It could not be started where it was sent."""

    RUNNING = "running"
    ENDED = "ended"
    OTHER = "other"


class Source(StrEnum):
    """Where a row stands."""

    EVENT = "event"
    NODE = "node"
    PARTITION = "partition"
    JOB = "job"
    LIMIT = "limit"
    RESERVATION = "reservation"
    LICENCE = "licence"
    PLAN = "plan"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    kind: Source
    id: str
    at: datetime | None = None
    """When it was seen, or happened."""

    says: Mapping[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    kind: Kind
    claim: str
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sooner:
    """Something that would start it sooner."""

    say: str
    command: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    kind: Kind
    summary: str
    chain: tuple[Link, ...] = ()
    sooner: tuple[Sooner, ...] = ()
    estimate: Estimate | None = None
    """None where time alone will not start it, or it has started."""

    unseen: tuple[str, ...] = ()
    """What would have been said too, had it been possible to look."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one cause comes to, before the queue and the estimate are added."""

    kind: Kind
    summary: str
    links: tuple[Link, ...] = ()
    sooner: tuple[Sooner, ...] = ()
    in_line: bool = False
    """Whose turn it is matters too: its place in the queue is told."""

    after: tuple[int, ...] = ()
    """Jobs that have to end first."""

    not_before: datetime | None = None
    hopeless: bool = False
    """Time alone will not start it: there is nothing to estimate."""

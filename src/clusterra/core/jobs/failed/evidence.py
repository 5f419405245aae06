"""What is known of the end of a job, and what is concluded from it."""

from dataclasses import dataclass
from datetime import datetime

from clusterra.core.jobs.again import Adjustment
from clusterra.core.jobs.failed.cause import Cause
from clusterra.core.jobs.job import Job


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeEvent:
    """What the ledger has of one of its nodes, around its end."""

    node: str
    type: str
    at: datetime
    says: str
    reason: str = ""
    """Slurm's, where it has one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    job: Job
    lines: tuple[str, ...] = ()
    """What it wrote last."""

    quotes: bool = True
    """What it wrote may be repeated."""

    unread: str = ""
    """Why what it wrote could not be read; empty if it could."""

    memory_used_mib: int | None = None
    """Over all its nodes, as accounting saw it."""

    node_events: tuple[NodeEvent, ...] = ()
    taken_back: tuple[str, ...] = ()
    """Those of its nodes that the cloud took back then."""

    cancelled_by: str = ""
    """Who cancelled it: `user:ana@lab.org`, `system:quota`; empty if that is not known."""

    cancelled_why: str = ""
    cost_micros: int | None = None
    cost_unknown: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    cause: Cause
    says: str
    advice: str = ""
    sure: bool = True
    fix: Adjustment | None = None

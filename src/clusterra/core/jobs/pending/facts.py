"""All that is looked at to say why a job waits.

What could not be seen is `Unseen` with the reason, and so is what nobody needed to look at:
nothing is concluded from either.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from clusterra.core.access import Caller
from clusterra.core.clusters import Node
from clusterra.core.jobs.job import Job
from clusterra.core.limits import Licence, Limits, PartitionRules, Reservation
from clusterra.core.scaling.planned import Planned
from clusterra.core.seen import Sight, Unseen

NOT_ASKED = Unseen("")
"""Nobody looked, because the answer does not depend on it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """An event of the ledger, opened."""

    seq: int
    id: str
    type: str
    subject: str
    actor: str
    at: datetime
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """The jobs of its partition that wait for their turn."""

    ahead: int = 0
    """Those that come before it."""

    waiting: int = 0
    """All of them, itself included."""

    first: Sequence[Job] = ()
    """The first of those ahead of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    now: datetime
    caller: Caller
    """Who asks: others' jobs are named as far as they may see them."""

    seen_at: datetime | None = None
    """When Slurm was asked about this job."""

    stale: str = ""
    """Why Slurm could not be asked now, where it could not: the job is as it was last seen."""

    nodes: Sight[tuple[Node, ...]] = NOT_ASKED
    rules: Sight[tuple[PartitionRules, ...]] = NOT_ASKED
    limits: Sight[Limits] = NOT_ASKED
    reservations: Sight[tuple[Reservation, ...]] = NOT_ASKED
    licences: Sight[tuple[Licence, ...]] = NOT_ASKED
    planned: Sight[Planned] = NOT_ASKED
    line: Line = field(default_factory=Line)
    live: Sequence[Job] = ()
    """Jobs that run, and where a limit counts them, those that wait."""

    more_live: bool = False
    """There are more of them than were read: what they use is at least that."""

    dependencies: Mapping[int, Job | None] = field(default_factory=dict)
    """The jobs it depends on; None for one that nobody knows any more."""

    history: Sequence[Row] = ()
    """What the ledger holds of this job, oldest first."""

    fleet_rows: Sequence[Row] = ()
    """What it holds of late about the fleet and its nodes, oldest first."""

    starts: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """How many seconds workers of each shape took of late, from being asked for to being ready."""

"""The fleet as it travels: what there is, what is wanted and why, and what an admin may set.

Money is whole millionths of a dollar. Prices are estimates from the price list, not a bill.
"""

from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeFleet:
    """The workers of one shape. Numbers are null while the fleet cannot be seen."""

    shape: str
    family: str
    arch: str
    cpus: int
    """What each offers to jobs; so are the next three."""
    memory_mib: int
    gpus: int
    gpu_model: str
    type: str
    """The machine whose price is taken; empty where none is known."""
    usd_per_hour_micros: int | None
    """Of one."""
    desired: int
    ready: int | None
    """Take jobs: `busy` and `idle` together."""
    busy: int | None
    idle: int | None
    warming: int | None
    """Asked for; Slurm does not know them yet."""
    leaving: int | None
    """Take no new jobs, and go when they are empty."""
    closed: int | None
    """Slurm cannot use them, or an admin drained them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortageView:
    """A shape that was asked for and did not come: it is left alone for a while."""

    shape: str
    why: str
    failures: int
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSeen:
    """Who starts and stops the workers."""

    id: str
    version: str
    heard_at: datetime
    age_seconds: float
    applied_version: int
    """The newest fleet it has seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingView:
    """Jobs that wait for the same thing."""

    cause: str
    """warming, room, never, max-workers, max-spend, shortage."""
    shape: str
    workers: int
    sentence: str
    jobs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyView:
    rule: str
    """`family` or `cheapest`."""
    max_workers: int
    max_usd_per_hour_micros: int | None
    """None is no limit."""
    idle_seconds: int
    purchase: str
    """`on-demand` or `spot`."""
    architectures: list[str]
    """The preferred one first."""
    minimum: dict[str, int]
    """Workers that are always kept, by shape."""
    set_by_admin: bool
    """False while it is what the settings say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EditPolicy:
    """What is to be different; what is left out stays."""

    rule: str | None = None
    max_workers: int | None = None
    max_usd_per_hour_micros: int | None = None
    """0 lifts the limit."""
    idle_seconds: int | None = None
    purchase: str | None = None
    architectures: list[str] | None = None
    minimum: dict[str, int] | None = None
    """By shape; 0 keeps none of it, and shapes that are left out stay as they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetView:
    cluster: str
    scaled: bool
    """False for a cluster whose nodes are not ours to start and stop."""
    note: str
    """Why there is nothing to see, or why it may be old; else empty."""
    version: int
    decided_at: datetime | None
    desired: int
    workers: int | None
    """All that there are, whatever their state; null while they cannot be seen."""
    usd_per_hour_micros: int | None
    """What those cost, by the price list; null if one has no price or they cannot be seen."""
    shapes: list[ShapeFleet]
    """Those with workers, or of which some are wanted."""
    shortages: list[ShortageView]
    agent: AgentSeen | None
    waiting: list[WaitingView]
    set_aside: int
    """Waiting jobs that more workers would not start."""
    policy: PolicyView
    observed_at: datetime | None
    age_seconds: float | None
    stale: bool
    offered: list[str] = field(default_factory=list)
    """The name of every shape there can be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResizeTold:
    seq: int
    """The number of its event in the ledger."""
    shape: str
    before: int
    after: int
    reason: str
    refused: list[str]
    """What else was considered, and why not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortageTold:
    seq: int
    shape: str
    why: str
    failures: int
    until: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionView:
    """One decision: all that was changed at once, and from what."""

    version: int
    """Of the fleet; 0 for a shortage after which nothing else was wanted."""
    at: datetime
    rule: str
    waiting_jobs: int
    workers: int
    """There were, those that were starting included."""
    warming: int
    usd_per_hour_micros: int | None
    """What the whole fleet costs after it."""
    changes: list[ResizeTold]
    shortages: list[ShortageTold]


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionPage:
    decisions: list[DecisionView]
    """Newest first."""
    next: int | None
    """Pass it as `before` for older ones."""

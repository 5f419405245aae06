"""What is decided about the fleet, and what it costs without a job paying for it."""

from dataclasses import dataclass
from datetime import datetime

from clusterra.core.events.fact import Fact, event


@event("fleet.resized")
class FleetResized(Fact):
    """Another number of workers is wanted, and why."""

    shape: str
    before: int
    after: int
    reason: str
    version: int = 0
    """Of the fleet that was decided on; events with the same one are one decision."""

    rule: str = ""
    """The policy's rule that decided."""

    waiting_jobs: int = 0
    """Jobs that waited for workers."""

    workers: int = 0
    """Workers there were, of all shapes, those that were starting included."""

    warming: int = 0
    usd_per_hour_micros: int | None = None
    """What the whole fleet costs after it, in millionths of a dollar; None if a price is unknown."""

    refused: tuple[str, ...] = ()
    """What else was considered, and why not."""


@event("fleet.shortage")
class FleetShortage(Fact):
    """Workers of a shape were asked for and did not come; it is left alone for a while."""

    shape: str
    why: str
    failures: int = 1
    """How many times in a row."""

    until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WasteFact:
    cause: str
    """`warming`, `idle`, `unused`, `leaving` or `closed`."""

    micros: int
    node_seconds: int
    """Seconds of whole machines; of `unused`, of machines that were in use."""


@event("fleet.cost.wasted")
class FleetCostWasted(Fact):
    """What machines cost in an hour, or a part of one, without working. The workspace pays it."""

    since: datetime
    until: datetime
    micros: int
    """In all, in millionths of a dollar."""

    causes: tuple[WasteFact, ...] = ()
    unknown_nodes: tuple[str, ...] = ()
    """Machines whose price is not known; they are in no amount."""


@event("fleet.cost.waste_high")
class FleetCostWasteHigh(Fact):
    """More than an admin wants was paid in a day for machines that did nothing."""

    period: str
    """The day."""

    micros: int
    limit_micros: int

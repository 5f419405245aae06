"""What jobs cost. All amounts are in whole millionths of a dollar."""

from dataclasses import dataclass
from datetime import datetime

from clusterra.core.events.catalogue.jobs import JobFact
from clusterra.core.events.fact import event


@dataclass(frozen=True, slots=True, kw_only=True)
class ChargeFact:
    """A time in which a job, or waste, cost the same per hour."""

    since: datetime
    until: datetime
    usd_per_hour_micros: int | None
    """None where a price was not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCostFact(JobFact):
    person: str = ""
    """Who pays: an e-mail, or the Linux user of somebody who is no person here."""

    usd_per_hour_micros: int | None = None
    """What it costs per hour; None if a price is not known. With the final cost, the last rate."""

    estimate: bool = False
    """Nobody pays it: the price is that of the machine its worker stands for."""

    why_unknown: str = ""
    """Why it is not known what it costs; empty if it is."""


@event("job.cost.estimated")
class JobCostEstimated(JobCostFact):
    """A job began to run: what it costs per hour, and in all if it takes all its time."""

    basis: tuple[str, ...] = ()
    """What was priced, and who said so: `m6i.xlarge on-demand: $0.19/h (table)`."""

    time_limit_minutes: int | None = None
    estimated_micros: int | None = None
    """Up to its time limit; None if it has none, or no price is known."""


@event("job.cost.finalized")
class JobCostFinalized(JobCostFact):
    """What a run of a job cost, or the part of it before its nodes changed. Never corrected."""

    charges: tuple[ChargeFact, ...] = ()
    seconds: int = 0
    """How long it had its nodes, suspensions left out."""

    cost_micros: int | None = None
    """What these charges come to; None if it is not known."""

    total_micros: int | None = None
    """What the whole job has cost by then, earlier runs included."""

    cpus: int = 0
    gpus: int = 0
    last: bool = True
    """False if the job goes on: it was queued again, or runs on with other nodes."""


@event("job.cost.over_estimate")
class JobCostOverEstimate(JobCostFact):
    """A running job has cost more than was estimated when it began."""

    estimated_micros: int = 0
    cost_micros: int = 0


@event("job.cost.over_quota")
class JobCostOverQuota(JobCostFact):
    """A running job will be cancelled, because whoever pays for it is over their quota."""

    cancels_at: datetime
    why: str

"""What was spent, as it travels. Every amount is a whole number of millionths of a dollar."""

from dataclasses import dataclass, field
from datetime import datetime

from clusterra.wire.quotas import QuotaView


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodView:
    name: str
    """`2026-11`, `2026-11-16`, or both ends of anything else."""
    since: datetime
    until: datetime
    """Not part of it."""
    tz: str
    """Where its days and months begin."""
    rounded: bool = False
    """True if what was asked for was widened to whole quarters of an hour."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpentView:
    micros: int
    """The two below together."""
    booked_micros: int
    """Of what has ended; this does not change any more."""
    pending_micros: int
    """Of what still runs, up to now."""
    jobs: int
    """How many ended."""
    running: int
    """How many still run."""
    unknown: int
    """Of how many it is not known what they cost. They are in no amount."""
    cpu_seconds: int
    gpu_seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageGroup(SpentView):
    """Those of the first fields are filled that were asked for by `by`."""

    person: str | None = None
    workspace: str | None = None
    account: str | None = None
    partition: str | None = None
    template: str | None = None
    cluster: str | None = None
    cluster_name: str | None = None
    what: str | None = None
    """`job`, or why a machine cost something without working."""
    day: str | None = None
    month: str | None = None
    job: str | None = None
    """Its id as people write it."""
    name: str | None = None
    usd_per_hour_micros: int | None = None
    """Of a job that runs."""
    waste_micros: int = 0
    """What machines cost there, or then, without working. It is not in `micros`."""
    why_unknown: list[str] = field(default_factory=list)
    """A few of the reasons."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WasteView:
    cause: str
    """`warming`, `idle`, `unused`, `leaving` or `closed`."""
    micros: int
    booked_micros: int
    pending_micros: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceSources:
    sources: list[str]
    """Who said them: `rates`, `edge`, `cloud`, `table`."""
    as_of: datetime | None
    """Since when the newest of them is known."""
    estimate: bool
    """True if nobody pays some of them: workers of one machine, priced as what they stand for."""
    stale: bool
    """True if some come from an edge that has not been heard for a while."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageView:
    period: PeriodView
    by: list[str]
    total: SpentView
    """Jobs and waste together."""
    work: SpentView
    """Jobs alone: what the groups, and `others`, come to."""
    groups: list[UsageGroup]
    others: SpentView | None
    """By job: all that are not among the groups."""
    waste_micros: int
    waste: list[WasteView]
    """What machines cost without working; the workspace's, and in no group of people."""
    burn_usd_per_hour_micros: int
    """What all that runs costs now."""
    burn_unknown: int
    """Of how many running jobs that is not known."""
    everybodys: bool
    """False if only one's own is shown, in one workspace at least; waste is then left out there."""
    why_unknown: list[str]
    estimate: bool
    """True if nobody pays some of it: see `prices`."""
    prices_as_of: datetime | None
    prices: PriceSources
    unseen: list[str]
    """Clusters that cannot be seen at the moment: what runs there is as it was last seen."""
    currency: str = "USD"


# --- one job


@dataclass(frozen=True, slots=True, kw_only=True)
class ChargeView:
    since: datetime
    until: datetime
    usd_per_hour_micros: int | None
    """Null where a price was not known."""
    micros: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCostView:
    restarts: int
    """How often the job had been queued again before it."""
    since: datetime | None
    until: datetime | None
    micros: int | None
    final: bool
    estimate: bool
    why_unknown: str
    charges: list[ChargeView]
    """Times in which it cost the same per hour."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPrice:
    basis: str
    """What was priced: `c7g.xlarge spot in us-east-1a`."""
    usd_per_hour_micros: int
    """Of the whole machine."""
    source: str
    """Who said it: `rates`, `edge`, `cloud` or `table`."""
    at: datetime
    """Since when it is known."""
    estimate: bool
    stale: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCostView:
    job_id: int
    label: str
    name: str
    state: str
    person: str
    """Who pays: an e-mail, or the Linux user of somebody who is no person here."""
    account: str
    micros: int | None
    """So far, all runs together; null if it is not known."""
    usd_per_hour_micros: int | None
    """What it costs now; null unless it runs."""
    estimated_micros: int | None
    """If it takes all its time; of one that has ended, what was estimated when it began."""
    final: bool
    estimate: bool
    why_unknown: str
    sentence: str
    """All that in words."""
    runs: list[RunCostView]
    prices: list[JobPrice]
    basis: list[str]
    """What was priced when it last began, as the ledger has it."""
    sealed_micros: int
    """What was paid for runs whose events have been sealed away."""
    currency: str = "USD"


# --- oneself


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthSpent:
    name: str
    booked_micros: int
    pending_micros: int
    micros: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceSpending:
    workspace: str
    burn_usd_per_hour_micros: int
    pending_micros: int
    """What the jobs that run have come to, whenever they began."""
    running: int
    month: MonthSpent
    today: MonthSpent
    quota: QuotaView | None = None
    """What one may spend there; null if nothing is said about that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpendingView:
    """What one's own jobs cost."""

    burn_usd_per_hour_micros: int
    burn_unknown: int
    """Of how many running jobs that is not known."""
    pending_micros: int
    running: int
    month: MonthSpent
    today: MonthSpent
    workspaces: list[WorkspaceSpending]
    tz: str = "UTC"
    currency: str = "USD"


# --- a month


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedSpent:
    name: str
    micros: int
    booked_micros: int
    pending_micros: int
    jobs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSpentView:
    cluster: str
    job_id: int
    job: str
    """Its id as people write it."""
    name: str
    account: str
    micros: int
    """In this month."""
    running: bool
    usd_per_hour_micros: int | None
    why_unknown: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonStatement:
    person: str
    spent: SpentView
    days: list[NamedSpent]
    clusters: list[NamedSpent]
    accounts: list[NamedSpent]
    dearest: list[JobSpentView]
    """The ten most expensive jobs."""
    unknown: list[JobSpentView]
    """Jobs of which it is not known what they cost."""
    running: list[JobSpentView]
    """What is still going on of what ran in this month."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementView:
    workspace: str
    workspace_name: str
    period: PeriodView
    made_at: datetime
    final: bool
    why_provisional: list[str]
    """What can still change it; nothing if it is final."""
    work: SpentView
    """All the people on it together."""
    people: list[PersonStatement]
    waste_micros: int | None
    """What machines cost without working; the workspace's, and only for those who run it."""
    waste: list[WasteView]
    prices: PriceSources
    currency: str = "USD"

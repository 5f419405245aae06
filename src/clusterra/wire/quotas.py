"""Quotas as they travel. All amounts in millionths of a US dollar; null is no limit."""

from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class FiguresView:
    """What somebody spends in a month or on a day."""

    period: str
    """`2026-11`, `2026-11-16`, where the workspace counts them."""
    since: datetime
    until: datetime
    """When it begins anew."""
    booked_micros: int
    pending_micros: int
    """What running jobs have come to so far."""
    spent_micros: int
    """Both together."""
    to_come_micros: int
    """What running jobs may add by their time limits."""
    projected_micros: int
    limit_micros: int | None
    """With what was allowed on top for a while."""
    left_micros: int | None
    percent: int | None
    """How much of the limit is spent; may be more than 100."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RaiseView:
    micros: int
    until: datetime
    by: str
    at: datetime
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaView:
    whose: str
    """An e-mail, the Linux user of somebody who is no person here, `everybody` or `workspace`."""
    own: bool
    """False if it is everybody's that counts for them."""
    month_micros: int | None
    day_micros: int | None
    job_micros: int | None
    """What one job may cost if it takes all its time."""
    burn_micros: int | None
    """What all that runs may cost per hour."""
    mode: str
    """What follows: `observe`, `warn`, `block` or `block_and_kill`."""
    buffer_percent: int
    """How far above the month's limit projected spending may be before jobs are ended."""
    grace_seconds: int
    """How long before that their owner is told."""
    raised: RaiseView | None
    month: FiguresView | None
    day: FiguresView | None
    usd_per_hour_micros: int | None
    """What runs now costs per hour. These three are null for `everybody`."""
    unpriced_jobs: int
    """Running jobs that are in no figure, because their price is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaPage:
    workspace: str
    zone: str
    """Where its months and days begin."""
    waste_per_day_micros: int | None
    """What machines without work may cost in a day before it is told."""
    quotas: list[QuotaView]
    """For admins all; for others their own, and the workspace's."""
    total: int
    currency: str = "USD"
    next: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EditQuota:
    """What is left out stays as it is; null lifts a limit."""

    month_micros: int | None = None
    day_micros: int | None = None
    job_micros: int | None = None
    burn_micros: int | None = None
    mode: str | None = None
    buffer_percent: int | None = None
    grace_seconds: int | None = None
    zone: str | None = None
    waste_per_day_micros: int | None = None
    """These two only for the workspace."""
    own: bool | None = None
    """False: take somebody's own quota away, so that everybody's counts for them again."""
    currency: str | None = None
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RaiseQuota:
    micros: int
    """How much more than the month's limit; 0 ends a raise."""
    until: datetime | None = None
    days: int | None = None
    """One of the two: until when, or for how long."""
    currency: str | None = None
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaChanged:
    quota: QuotaView
    changed: list[str]
    """Each as `month: $300.00 → $400.00`."""
    warnings: list[str] = field(default_factory=list)
    """What follows at once, in words."""

"""Quotas as the API shows them: the limits, and how somebody stands against them."""

from clusterra.core.cost.quota import WORKSPACE, Quota, Quotas
from clusterra.core.cost.quota_edit import EVERYBODY
from clusterra.core.cost.quota_standing import Figures, Standing, percent
from clusterra.wire.quotas import FiguresView, QuotaView, RaiseView

WORKSPACE_WORD = "workspace"
"""What the quota of all together is called in paths and answers."""


def quota_view(quotas: Quotas, standing: Standing) -> QuotaView:
    quota, whose = standing.quota, standing.whose
    return QuotaView(
        whose=whose or WORKSPACE_WORD,
        own=whose == WORKSPACE or whose in quotas.people,
        month_micros=quota.month,
        day_micros=quota.day,
        job_micros=quota.job,
        burn_micros=quota.burn,
        mode=quota.mode,
        buffer_percent=quota.buffer_percent,
        grace_seconds=quota.grace_seconds,
        raised=_raise(quota, standing),
        month=_figures(standing.month, standing.limit),
        day=_figures(standing.day, quota.day),
        usd_per_hour_micros=standing.burn,
        unpriced_jobs=standing.unpriced,
    )


def everybodys_view(quotas: Quotas) -> QuotaView:
    """Show what counts for whoever has no quota of their own: limits without anybody's figures."""
    quota = quotas.everybody
    return QuotaView(
        whose=EVERYBODY,
        own=True,
        month_micros=quota.month,
        day_micros=quota.day,
        job_micros=quota.job,
        burn_micros=quota.burn,
        mode=quota.mode,
        buffer_percent=quota.buffer_percent,
        grace_seconds=quota.grace_seconds,
        raised=None,
        month=None,
        day=None,
        usd_per_hour_micros=None,
        unpriced_jobs=0,
    )


def _raise(quota: Quota, standing: Standing) -> RaiseView | None:
    more = quota.raised
    if more is None or more.until <= standing.now:
        return None
    return RaiseView(micros=more.micros, until=more.until, by=more.by, at=more.at, why=more.why)


def _figures(figures: Figures, limit: int | None) -> FiguresView:
    return FiguresView(
        period=figures.period.name,
        since=figures.period.since,
        until=figures.period.until,
        booked_micros=figures.booked,
        pending_micros=figures.pending,
        spent_micros=figures.spent,
        to_come_micros=figures.to_come,
        projected_micros=figures.projected,
        limit_micros=limit,
        left_micros=None if limit is None else max(limit - figures.spent, 0),
        percent=percent(figures.spent, limit),
    )

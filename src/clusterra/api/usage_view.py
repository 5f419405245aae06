"""Usage, statements and what a job costs, as the API shows them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

from clusterra.api.csv_file import Cell, amounts
from clusterra.api.usage_asked import AskedUsage
from clusterra.control.cost.dearest import JobSpent
from clusterra.control.cost.known_prices import KnownPrices
from clusterra.control.cost.report import Group, Reach, Report, burning
from clusterra.control.cost.spending import Spending, Spends
from clusterra.control.cost.usage import Tally
from clusterra.core.cost.books import What
from clusterra.core.cost.dimensions import Dimension
from clusterra.core.cost.periods import Period
from clusterra.wire.quotas import QuotaView
from clusterra.wire.usage import (
    JobSpentView,
    MonthSpent,
    PeriodView,
    PriceSources,
    SpendingView,
    SpentView,
    UsageGroup,
    UsageView,
    WasteView,
    WorkspaceSpending,
)


def usage_view(
    found: Report,
    asked: AskedUsage,
    reaches: Sequence[Reach],
    prices: KnownPrices,
    *,
    everybodys: bool,
) -> UsageView:
    sites = [site for reach in reaches for site in reach.sites]
    names = {site.cluster.id: site.cluster.name for site in sites}
    rate, unknown_rates = burning(reaches)
    return UsageView(
        period=period_view(asked.period, asked.zone.key, rounded=asked.rounded),
        by=[each.value for each in found.by],
        total=spent_view(found.total),
        work=spent_view(found.work),
        groups=[_group(found, each, names) for each in found.groups],
        others=None if found.others is None else spent_view(found.others),
        waste_micros=sum(each.micros for each in found.waste.values()),
        waste=waste_views(found.waste),
        burn_usd_per_hour_micros=rate,
        burn_unknown=unknown_rates,
        everybodys=everybodys,
        why_unknown=list(found.why_unknown),
        estimate=prices.estimate,
        prices_as_of=prices.as_of,
        prices=prices_view(prices),
        unseen=[site.cluster.name for site in sites if site.sky.why_not],
    )


_SPENT = tuple(each.name for each in fields(SpentView))
_BESIDE = ("person", "account", "partition", "cluster", "name")
"""What a row of a job tells beside its id."""

USAGE_COLUMNS = (
    "since",
    "until",
    *(each.value for each in Dimension),
    "name",
    *(f"{name}_{unit}" for name in ("booked", "pending", "total") for unit in ("micros", "usd")),
    "jobs",
    "running",
    "unknown",
    "cpu_seconds",
    "gpu_seconds",
    "why_unknown",
    "currency",
)


def usage_rows(view: UsageView) -> Iterator[Mapping[str, Cell]]:
    """Yield lines that come to the total: groups, the jobs that are not shown, and waste."""
    always: dict[str, Cell] = {
        "since": view.period.since,
        "until": view.period.until,
        "currency": view.currency,
    }
    tells_waste = Dimension.WHAT in view.by
    if not tells_waste:
        always["what"] = What.JOB.value
    for group in view.groups:
        keys = {name: getattr(group, name) for name in (*view.by, *_BESIDE)}
        why = {"why_unknown": "; ".join(group.why_unknown)}
        yield {**always, **keys, **spent_cells(group), **why}
    if not view.by:
        yield {**always, **spent_cells(view.work)}
    if view.others is not None and view.others.micros:
        yield {**always, "job": "others", **spent_cells(view.others)}
    for waste in () if tells_waste else view.waste:
        yield {**always, "what": waste.cause, **_waste_cells(waste)}


def _waste_cells(waste: WasteView) -> Mapping[str, Cell]:
    return amounts(booked=waste.booked_micros, pending=waste.pending_micros, total=waste.micros)


def spent_cells(spent: SpentView) -> Mapping[str, Cell]:
    counts: dict[str, Cell] = {
        "jobs": spent.jobs,
        "running": spent.running,
        "unknown": spent.unknown,
        "cpu_seconds": spent.cpu_seconds,
        "gpu_seconds": spent.gpu_seconds,
    }
    money = amounts(booked=spent.booked_micros, pending=spent.pending_micros, total=spent.micros)
    return {**money, **counts}


def period_view(period: Period, tz: str, *, rounded: bool = False) -> PeriodView:
    return PeriodView(
        name=period.name, since=period.since, until=period.until, tz=tz, rounded=rounded
    )


def spent_view(tally: Tally) -> SpentView:
    return SpentView(
        micros=tally.micros,
        booked_micros=tally.booked.micros,
        pending_micros=tally.pending.micros,
        jobs=tally.booked.jobs,
        running=tally.running,
        unknown=tally.unknown,
        cpu_seconds=tally.booked.cpu_seconds + tally.pending.cpu_seconds,
        gpu_seconds=tally.booked.gpu_seconds + tally.pending.gpu_seconds,
    )


def waste_views(waste: Mapping[What, Tally]) -> list[WasteView]:
    """Return the causes, the most expensive first."""
    ranked = sorted(waste.items(), key=lambda each: (-each[1].micros, each[0]))
    return [
        WasteView(
            cause=cause.value,
            micros=tally.micros,
            booked_micros=tally.booked.micros,
            pending_micros=tally.pending.micros,
        )
        for cause, tally in ranked
        if tally.micros
    ]


def prices_view(prices: KnownPrices) -> PriceSources:
    return PriceSources(
        sources=[each.value for each in prices.sources],
        as_of=prices.as_of,
        estimate=prices.estimate,
        stale=prices.stale,
    )


def job_spent_view(job: JobSpent, name_of: Callable[[str], str]) -> JobSpentView:
    return JobSpentView(
        cluster=name_of(job.cluster),
        job_id=job.job_id,
        job=job.label,
        name=job.name,
        account=job.payer.account,
        micros=job.micros,
        running=job.running,
        usd_per_hour_micros=job.usd_per_hour,
        why_unknown=job.why_unknown,
    )


def spending_view(found: Spending, quotas: Mapping[str, QuotaView], tz: str) -> SpendingView:
    """Show what one spends; `quotas` has what one may spend, by workspace."""
    spends = found.all
    return SpendingView(
        burn_usd_per_hour_micros=spends.usd_per_hour,
        burn_unknown=spends.unknown_rates,
        pending_micros=spends.pending,
        running=spends.running,
        month=_month(found.month, spends.month),
        today=_month(found.day, spends.today),
        workspaces=[
            _in_workspace(found, id, each, quotas.get(id)) for id, each in found.workspaces.items()
        ],
        tz=tz,
    )


def _in_workspace(
    found: Spending, id: str, spends: Spends, quota: QuotaView | None
) -> WorkspaceSpending:
    return WorkspaceSpending(
        workspace=id,
        burn_usd_per_hour_micros=spends.usd_per_hour,
        pending_micros=spends.pending,
        running=spends.running,
        month=_month(found.month, spends.month),
        today=_month(found.day, spends.today),
        quota=quota,
    )


def _month(period: Period, tally: Tally) -> MonthSpent:
    return MonthSpent(
        name=period.name,
        booked_micros=tally.booked.micros,
        pending_micros=tally.pending.micros,
        micros=tally.micros,
    )


def _group(found: Report, group: Group, names: Mapping[str, str]) -> UsageGroup:
    keys: dict[str, Any] = dict(zip((each.value for each in found.by), group.key, strict=True))
    spent = spent_view(group.work)
    if job := group.job:
        keys |= {
            "name": job.name,
            "usd_per_hour_micros": job.usd_per_hour,
            "person": job.payer.person,
            "account": job.payer.account,
            "partition": job.payer.partition,
            "cluster": job.cluster,
        }
    return UsageGroup(
        **{name: getattr(spent, name) for name in _SPENT},
        **keys,
        cluster_name=names.get(keys.get("cluster", "")),
        waste_micros=group.waste.micros,
        why_unknown=list(group.why_unknown),
    )

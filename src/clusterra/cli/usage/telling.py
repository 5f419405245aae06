"""Usage in words: one sentence, a table with bars, and what machines cost without working."""

from collections.abc import Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from clusterra.cli.screen import Screen, cut_end, tame
from clusterra.cli.table import Cell, Column, table
from clusterra.core.money import dollars, per_hour
from clusterra.core.words import count, listed
from clusterra.wire.usage import PeriodView, PriceSources, UsageGroup, UsageView, WasteView

BAR = 16
"""Columns that the longest bar takes."""

_EIGHTHS = " ▏▎▍▌▋▊▉"

CAUSES = {
    "warming": "starting",
    "idle": "idle",
    "unused": "the unused part of busy machines",
    "leaving": "leaving",
    "closed": "closed to jobs",
}

SOURCES = {
    "rates": "your own rates",
    "edge": "what the agent that buys the machines was told",
    "cloud": "the cloud's price list",
    "table": "the price list that comes with Clusterra",
}

_NOBODY = {"account": "(no account)", "template": "(no template)", "partition": "(no partition)"}


def telling(view: UsageView, screen: Screen, now: datetime) -> list[str]:
    lines = [screen.paint(sentence(view, now), bold=True)]
    groups = [group for group in view.groups if not _is_to_come(group, view, now)]
    if not view.total.micros and not view.work.jobs and not view.work.running:
        return [*lines, *_nothing(view)]
    if groups:
        lines += _table(view, groups, screen)
    if view.others is not None and view.others.micros > 0:
        lines.append(f"  {dollars(view.others.micros)} more for all other jobs: --limit shows more")
    lines += waste_lines(view.waste_micros, view.waste, view.total.micros, screen)
    lines += _remarks(view, screen)
    return [*lines, _next(view)]


def sentence(view: UsageView, now: datetime) -> str:
    """Return `$412.08 this month so far; $3.10/h now`."""
    amount = dollars(view.total.micros)
    if not view.period.since <= now < view.period.until:
        return f"{amount} {when(view.period, now)}"
    rate = view.burn_usd_per_hour_micros
    if view.work.running or rate:
        return f"{amount} {when(view.period, now)} so far; {per_hour(rate)} now"
    return f"{amount} {when(view.period, now)} so far; nothing runs now"


def when(period: PeriodView, now: datetime) -> str:
    here = now.astimezone(ZoneInfo(period.tz))
    if period.name == f"{here:%Y-%m}":
        return "this month"
    if period.name == f"{here:%Y-%m-%d}":
        return "today"
    if "/" not in period.name:
        return f"{'in' if len(period.name) == len('2026-11') else 'on'} {period.name}"
    since, until = (each.astimezone(here.tzinfo) for each in (period.since, period.until))
    return f"from {since:%Y-%m-%d %H:%M} to {until:%Y-%m-%d %H:%M}"


def bar(micros: int, most: int, width: int = BAR) -> str:
    """Return a bar as long as its share of the largest; the smallest amount is seen."""
    if micros <= 0 or most <= 0:
        return ""
    eighths = max(micros * width * 8 // most, 1)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).rstrip()


def waste_lines(total: int, waste: Sequence[WasteView], whole: int, screen: Screen) -> list[str]:
    if not total:
        return []
    share = f" ({total * 100 // whole} %)" if whole else ""
    causes = " · ".join(
        f"{CAUSES.get(each.cause, each.cause)} {dollars(each.micros)}" for each in waste
    )
    return [cut_end(f"  Without work: {dollars(total)}{share}: {causes}", screen.width)]


def price_words(prices: PriceSources) -> str:
    """Return from where prices are known; empty if there are none."""
    said = listed(SOURCES.get(each, each) for each in prices.sources)
    if not said:
        return ""
    as_of = f", as of {prices.as_of:%Y-%m-%d}" if prices.as_of else ""
    old = "; its agent is silent, so they are the last it told" if prices.stale else ""
    if prices.estimate:
        return f"Estimates by {said}{as_of}; nobody is charged{old}."
    return f"By {said}{as_of}{old}."


def _table(view: UsageView, groups: Sequence[UsageGroup], screen: Screen) -> list[str]:
    most = max(group.micros for group in groups)
    is_job = view.by == ["job"]
    keys = ["job", "name", "person"] if is_job else view.by
    columns = [
        *(Column(_title(each), name=each not in ("day", "month", "job")) for each in keys),
        Column("COST", right=True),
        Column(""),
        *((Column("NOW", right=True),) if is_job else (Column("JOBS", right=True),)),
        Column("", note=True),
    ]
    rows: list[list[str | Cell]] = [
        [
            *(_named(group, each) for each in keys),
            dollars(group.micros),
            Cell(bar(group.micros, most), "blue"),
            _now(group) if is_job else f"{group.jobs + group.running:,}",
            Cell(_note(group), faint=True),
        ]
        for group in groups
    ]
    return table(columns, rows, screen)


def _title(dimension: str) -> str:
    return "ID" if dimension == "job" else dimension.upper()


def _named(group: UsageGroup, dimension: str) -> str:
    value: str = getattr(group, dimension) or ""
    if dimension == "cluster":
        value = group.cluster_name or value
    return value or _NOBODY.get(dimension, "–")


def _now(group: UsageGroup) -> str:
    return per_hour(group.usd_per_hour_micros) if group.running else "–"


def _note(group: UsageGroup) -> str:
    parts = [
        f"{group.running:,} running" if group.running and group.job is None else "",
        f"{dollars(group.waste_micros)} without work" if group.waste_micros else "",
        f"{group.unknown:,} not known" if group.unknown else "",
    ]
    return " · ".join(part for part in parts if part)


def _is_to_come(group: UsageGroup, view: UsageView, now: datetime) -> bool:
    here = now.astimezone(ZoneInfo(view.period.tz))
    return bool(
        (group.day and group.day > f"{here:%Y-%m-%d}")
        or (group.month and group.month > f"{here:%Y-%m}")
    )


def _remarks(view: UsageView, screen: Screen) -> list[str]:
    remarks = []
    if view.work.unknown:
        why = f": {view.why_unknown[0]}" if view.why_unknown else "."
        remarks.append(f"Of {count(view.work.unknown, 'job')} the cost is not known{why}")
    if not view.everybodys:
        remarks.append("Only your own: people do not see each other's jobs here.")
    if view.period.rounded:
        remarks.append("The period was widened to whole quarters of an hour.")
    if view.unseen:
        remarks.append(f"{listed(view.unseen)} cannot be seen: what runs there is as last known.")
    if said := price_words(view.prices):
        remarks.append(said)
    return [cut_end(f"  {tame(each)}", screen.width) for each in remarks]


def _next(view: UsageView) -> str:
    if view.by == ["job"]:
        first = next((group.job for group in view.groups), "JOB")
        return f"  Next:  clusterra jobs cost {first}"
    return "  Next:  clusterra usage --by job     the month as a page: clusterra usage statement"


def _nothing(view: UsageView) -> list[str]:
    remarks = []
    if not view.everybodys:
        remarks.append("  Only your own is shown: people do not see each other's jobs here.")
    return [
        *remarks,
        "  Jobs cost from the moment they start. The first one:  clusterra run -- hostname",
        "  An earlier month:  clusterra usage --month YYYY-MM",
    ]

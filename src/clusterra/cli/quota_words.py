"""Quotas as people read them in a terminal: a bar, what is spent and what is left."""

from datetime import datetime, timedelta

from clusterra.cli.amounts import duration, moment
from clusterra.cli.screen import Screen, cut_end, tame
from clusterra.cli.table import Cell, Column
from clusterra.core.money import dollars, per_hour
from clusterra.core.words import count
from clusterra.wire.quotas import FiguresView, QuotaPage, QuotaView

BAR = 20
HIGH, FULL = 80, 100

FOLLOWS = {
    "observe": "nothing but figures",
    "warn": "a warning, and nothing is stopped",
    "block": "no job is taken that would go over",
    "block_and_kill": "no job is taken that would go over, and running ones are ended",
}

COLUMNS = (
    Column("WHOSE", name=True),
    Column("THIS MONTH", right=True),
    Column("OF", right=True),
    Column("USED"),
    Column("LEFT", right=True),
    Column("MODE"),
    Column("RUNS", right=True),
    Column("MAY ADD", right=True),
    Column("TODAY", right=True),
    Column("PER HOUR", right=True),
)
"""RUNS is how much of it is still running; MAY ADD, what that adds by its time limits."""


def headline(page: QuotaPage) -> str:
    """Answer the question of whoever asks: what have we, or I, spent, and of how much."""
    mine = next(
        (each for each in page.quotas if each.whose not in ("workspace", "everybody")), None
    )
    alone = mine if mine and len(page.quotas) == 2 else None
    view = alone or next(each for each in page.quotas if each.whose == "workspace")
    name = "You have" if alone else "The workspace has"
    return f"{name} {_spent(view)}"


def portrait(view: QuotaView, screen: Screen, now: datetime) -> list[str]:
    """Return everything about one quota."""
    if view.month is None or view.day is None:
        lines = [
            screen.paint("What counts for each person without a quota of their own:", bold=True)
        ]
        lines += [f"  {name:<9}{_most(most)}" for name, most in _limits(view)]
        return [*lines, *_mode(view)]
    name = "The workspace" if view.whose == "workspace" else tame(view.whose)
    lines = [screen.paint(f"{name} has {_spent(view)}", bold=True)]
    for word, figures in (("month", view.month), ("day", view.day)):
        lines.append(_figures(word, figures, screen))
    lines.append(f"  {'job':<9}{_most(view.job_micros)}")
    rate = per_hour(view.usd_per_hour_micros)
    lines.append(f"  {'runs':<9}{rate} now; {_most(view.burn_micros)} per hour")
    if view.raised:
        why = f": {view.raised.why}" if view.raised.why else ""
        until = moment(view.raised.until, now)
        told = f"{dollars(view.raised.micros)} more until {until}, by {view.raised.by}{why}"
        lines.append(cut_end(f"  {'raised':<9}{tame(told)}", screen.width))
    if view.unpriced_jobs:
        jobs = count(view.unpriced_jobs, "running job")
        told = f"  {jobs} in no figure: their price is not known"
        lines.append(screen.paint(told, "yellow"))
    lines += [cut_end(line, screen.width) for line in _mode(view)]
    resets = f"  {'anew':<9}the day at {moment(view.day.until, now)}, the month at"
    lines.append(cut_end(f"{resets} {moment(view.month.until, now)}", screen.width))
    if not view.own:
        lines.append("  This is everybody's quota; none is set for them alone.")
    return lines


def bar(percent: int, screen: Screen) -> str:
    filled = min(percent * BAR // 100, BAR)
    colour = "red" if percent >= FULL else "yellow" if percent >= HIGH else None
    return screen.paint("█" * filled, colour) + screen.faint("░" * (BAR - filled))


def _spent(view: QuotaView) -> str:
    month = view.month
    if month is None:
        return "no figures of its own."
    spent = f"spent {dollars(month.spent_micros)}"
    if month.limit_micros is None:
        return f"{spent} in {month.period}; there is no limit."
    left = dollars(month.left_micros or 0)
    return (
        f"{spent} of {dollars(month.limit_micros)} in {month.period} · {month.percent} % ·"
        f" {left} left"
    )


def _figures(word: str, figures: FiguresView, screen: Screen) -> str:
    spent = dollars(figures.spent_micros)
    runs = ""
    if figures.pending_micros or figures.to_come_micros:
        runs = f" · {dollars(figures.pending_micros)} of it runs on and may add"
        runs += f" {dollars(figures.to_come_micros)}"
    if figures.limit_micros is None:
        return cut_end(f"  {word:<9}{spent}, no limit{runs}", screen.width)
    share = figures.percent or 0
    told = f"{share:>3} %  {spent} of {dollars(figures.limit_micros)}{runs}"
    return f"  {word:<9}{bar(share, screen)} {cut_end(told, max(screen.width - BAR - 13, 0))}"


def row(view: QuotaView) -> list[str | Cell]:
    month, day = view.month, view.day
    if month is None or day is None:
        none = Cell("–", faint=True)
        limit = _short(view.month_micros)
        return [view.whose, none, limit, none, none, view.mode, none, none, none, none]
    share = month.percent
    colour = None if share is None or share < HIGH else "red" if share >= FULL else "yellow"
    return [
        view.whose,
        dollars(month.spent_micros),
        _short(month.limit_micros),
        Cell("–", faint=True) if share is None else Cell(_small_bar(share), colour),
        "–" if month.left_micros is None else dollars(month.left_micros),
        view.mode if view.own else Cell(view.mode, faint=True),
        dollars(month.pending_micros),
        dollars(month.to_come_micros),
        dollars(day.spent_micros),
        per_hour(view.usd_per_hour_micros),
    ]


def _small_bar(percent: int) -> str:
    filled = min(percent // 20, 5)
    return f"{'█' * filled}{'░' * (5 - filled)} {percent:>3} %"


def _short(micros: int | None) -> str | Cell:
    return Cell("no limit", faint=True) if micros is None else dollars(micros)


def _most(micros: int | None) -> str:
    return "no limit" if micros is None else f"at most {dollars(micros)}"


def _limits(view: QuotaView) -> list[tuple[str, int | None]]:
    return [
        ("month", view.month_micros),
        ("day", view.day_micros),
        ("job", view.job_micros),
        ("per hour", view.burn_micros),
    ]


def _mode(view: QuotaView) -> list[str]:
    lines = [f"  {'mode':<9}{tame(view.mode)}: {FOLLOWS.get(view.mode, '')}".rstrip(": ")]
    if view.mode == "block_and_kill":
        grace = duration(timedelta(seconds=view.grace_seconds))
        over = f" by {view.buffer_percent} %" if view.buffer_percent else ""
        lines.append(f"  {'ends':<9}running jobs that would go over{over}, {grace} after a notice")
    return lines

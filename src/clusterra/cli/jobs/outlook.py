"""What `jobs submit --dry-run` says of a job: its workers, price, start, and what costs less."""

import textwrap
from collections.abc import Iterator
from datetime import datetime, timedelta

from clusterra.cli.amounts import duration, limit, memory
from clusterra.cli.screen import Screen, columns_of, pad, tame
from clusterra.core.money import dollars, per_hour
from clusterra.core.words import count
from clusterra.wire.estimate import AlternativeView, JobEstimate, QuotaEffectView, ShapeView
from clusterra.wire.why import EstimateView

_GAP = "  "
NOT_TAKEN = "It would not be taken as it is."
_NAMES = 8
"""Columns for what a line is about."""


def told(found: JobEstimate, screen: Screen, now: datetime) -> list[str]:
    lines = [screen.paint(line, bold=True) for line in _wrapped(_headline(found), screen.width)]
    for name, text in _facts(found, now):
        lines += _about(name, text, screen)
    if found.refused:
        lines += [screen.paint(line, "red") for line in _about("quota", NOT_TAKEN, screen)]
    for sentence in found.over:
        lines += [screen.paint(line, "yellow") for line in _about("over", sentence, screen)]
    for warning in found.warnings:
        lines += [screen.paint(line, "yellow") for line in _about("note", warning, screen)]
    if found.alternatives:
        lines += ["", f"{_GAP}Cheaper"]
        wide = max(columns_of(tame(each.option)) for each in found.alternatives)
        for each in found.alternatives:
            lines += _cheaper(each, wide, screen)
    return [*lines, "", "Nothing was submitted."]


def _headline(found: JobEstimate) -> str:
    where = f" on {_workers(found)}" if found.shape or found.node else ""
    tasks = f" for {count(found.tasks, 'task')}" if found.tasks > 1 else ""
    if found.usd_per_hour_micros is None:
        return f"Would run{where}; what it costs is not known."
    most = f" · {dollars(found.total_micros)} at its time limit" if found.total_micros else ""
    return f"Would run{where} · {per_hour(found.usd_per_hour_micros)}{most}{tasks}"


def _workers(found: JobEstimate) -> str:
    name = found.shape.name if found.shape else found.node
    return f"{found.workers:,} × {name}" if found.workers > 1 else name


def _facts(found: JobEstimate, now: datetime) -> Iterator[tuple[str, str]]:
    if found.shape:
        yield "worker", f"{_offer(found.shape)} · {_availability(found)}"
    elif found.node:
        yield "node", f"{found.node} has room for it now"
    yield "price", _price(found)
    yield "total", _total(found)
    yield "start", _start(found.start, now) if found.start else found.why_no_start or "not known"
    for quota in found.quotas:
        yield "quota", _quota(quota)


def _offer(shape: ShapeView) -> str:
    gpus = f", {shape.gpus} × {shape.gpu_model}" if shape.gpus else ""
    like = f" · like {shape.types[0]}" if shape.types else ""
    return f"{count(shape.cpus, 'CPU')}, {memory(shape.memory_mib)}{gpus} · {shape.arch}{like}"


def _availability(found: JobEstimate) -> str:
    usually = (
        f", usually in {duration(timedelta(seconds=found.worker_seconds))}"
        if found.worker_seconds is not None
        else ""
    )
    match found.available:
        case "now":
            return f"{found.node or 'one'} is free now"
        case "start":
            return f"would be started for it{usually}"
        case "starting":
            return f"on its way{usually}"
        case _:
            return "none for it now"


def _price(found: JobEstimate) -> str:
    if found.usd_per_hour_micros is None:
        return f"not known: {found.why_unknown}"
    tasks = " for the tasks that run at a time" if found.tasks > 1 else ""
    whole = f"a whole {'worker' if found.shape else 'node'} is"
    nobody = " · an estimate: nobody is billed for this machine" if found.estimate else ""
    return (
        f"{per_hour(found.usd_per_hour_micros)}{tasks} · {whole} "
        f"{per_hour(found.worker_usd_per_hour_micros)} · {found.basis}{nobody}"
    )


def _total(found: JobEstimate) -> str:
    parts = []
    if found.total_micros is not None:
        who = "each task" if found.tasks > 1 else "it"
        parts.append(
            f"{dollars(found.total_micros)} if {who} takes all of its"
            f" {limit(found.time_limit_minutes)}"
        )
    past = found.before
    if past is not None:
        took = duration(timedelta(seconds=past.median_seconds))
        cost = "" if past.likely_micros is None else f"likely {dollars(past.likely_micros)}: "
        parts.append(f"{cost}the last {count(past.jobs, 'job')} called {found.name} took {took}")
    return " · ".join(parts) or "not known"


def _start(guess: EstimateView, now: datetime) -> str:
    low, likely, high = (duration(each - now) for each in (guess.low, guess.likely, guess.high))
    return f"in about {likely} ({low} – {high}): {guess.basis[:1].lower()}{guess.basis[1:]}"


def _quota(quota: QuotaEffectView) -> str:
    who = quota.whose or "the workspace"
    if quota.limit_micros is None:
        return f"{who}: no limit this month · {dollars(quota.spent_micros)} spent"
    left = f"{dollars(quota.left_micros or 0)} left of {dollars(quota.limit_micros)} this month"
    spent = f"{dollars(quota.spent_micros)} spent"
    after = ""
    if quota.after_micros is not None:
        rest = quota.limit_micros - quota.after_micros
        after = (
            f" · {dollars(rest)} would be left if all took its time"
            if rest >= 0
            else f" · {dollars(-rest)} over it if all took its time"
        )
    return f"{who}: {left} · {spent}{after}"


def _cheaper(each: AlternativeView, wide: int, screen: Screen) -> list[str]:
    """Return what to write and what it saves, then why; what is to be copied is never cut."""
    saves = f"saves {dollars(each.saved_micros)} ({each.saved_percent} %)"
    first = (
        f"{_GAP * 2}{pad(tame(each.option), wide)}  {per_hour(each.usd_per_hour_micros)} · {saves}"
    )
    why = f"{tame(each.say)} {tame(each.in_time)}".strip()
    return [first, *(screen.faint(f"{_GAP * 3}{line}") for line in _wrapped(why, screen.width - 6))]


def _about(name: str, text: str, screen: Screen) -> list[str]:
    first, *rest = _wrapped(tame(text), screen.width - len(_GAP) - _NAMES) or [""]
    lines = [f"{_GAP}{pad(name, _NAMES)}{first}"]
    return [*lines, *(f"{_GAP}{' ' * _NAMES}{line}" for line in rest)]


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, max(width, 20), break_long_words=False, break_on_hyphens=False)

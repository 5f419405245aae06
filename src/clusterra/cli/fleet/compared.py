"""Two outcomes side by side, and what to conclude from them."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from clusterra.cli.amounts import duration
from clusterra.cli.table import Cell
from clusterra.core.money import dollars
from clusterra.core.scaling.simulate import Outcome
from clusterra.core.scaling.yard import Arrival
from clusterra.core.words import count

_SAME_WAIT = 1
"""Seconds by which two mean waits may differ and still be called the same."""


def span(jobs: Sequence[Arrival]) -> str:
    """Return the time over which jobs came."""
    moments = [job.at for job in jobs] or [0]
    return duration(timedelta(seconds=max(moments) - min(moments)))


def rows(outcomes: Sequence[Outcome]) -> list[list[str | Cell]]:
    """Return a row for each thing that is compared."""

    def row(name: str, *texts: str) -> list[str | Cell]:
        return [Cell(name, faint=True), *texts]

    return [
        row("cost", *(_cost(each) for each in outcomes)),
        row("mean wait", *(_seconds(each.waits.mean) for each in outcomes)),
        row("half waited at most", *(_seconds(each.waits.p50) for each in outcomes)),
        row("95% waited at most", *(_seconds(each.waits.p95) for each in outcomes)),
        row("longest wait", *(_seconds(each.waits.longest) for each in outcomes)),
        row("most workers at once", *(f"{each.peak_workers:,}" for each in outcomes)),
        row("workers started", *(f"{each.started_workers:,}" for each in outcomes)),
        row("node-hours busy", *(_hours(each.busy_seconds) for each in outcomes)),
        row("node-hours idle", *(_hours(each.idle_seconds) for each in outcomes)),
        row("node-hours starting", *(_hours(each.warming_seconds) for each in outcomes)),
        row("jobs that never ran", *(f"{each.never_ran:,}" for each in outcomes)),
    ]


def conclusion(outcomes: Mapping[str, Outcome]) -> list[str]:
    """Say in a sentence what the second means against the first."""
    if len(outcomes) < 2:
        return []
    (first, one), (second, other) = outcomes.items()
    sentence = f"{_by_cost(first, one, second, other)}{_by_wait(one, other)}."
    if one.never_ran or other.never_ran:
        never = " and ".join(
            f"{count(each.never_ran, 'job')} under {spec}"
            for spec, each in outcomes.items()
            if each.never_ran
        )
        return [sentence, f"Never run: {never}. No shape holds them, or the limits are too low."]
    return [sentence]


def _by_cost(first: str, one: Outcome, second: str, other: Outcome) -> str:
    if one.cost_micros is None or other.cost_micros is None:
        return f"What {second} costs against {first} is not known: a shape has no price"
    saved = one.cost_micros - other.cost_micros
    if saved == 0:
        return f"{second} costs the same as {first}"
    part = f" ({abs(saved) * 100 // one.cost_micros}%)" if one.cost_micros else ""
    return (
        f"{second} costs {dollars(abs(saved))} {'less' if saved > 0 else 'more'}{part} than {first}"
    )


def _by_wait(one: Outcome, other: Outcome) -> str:
    longer = other.waits.mean - one.waits.mean
    if abs(longer) < _SAME_WAIT:
        return ", and jobs wait as long"
    by = _seconds(abs(longer))
    return f", and jobs wait {by} {'longer' if longer > 0 else 'less'} on average"


def _cost(each: Outcome) -> str:
    return "not known" if each.cost_micros is None else dollars(each.cost_micros)


def _seconds(seconds: float) -> str:
    return duration(timedelta(seconds=seconds))


def _hours(seconds: int) -> str:
    return f"{seconds / 3600:,.1f}"

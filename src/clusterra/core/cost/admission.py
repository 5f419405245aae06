"""Whether a job that somebody submits is within their quota; if not, the sentence that says so.

Every limit that it would break is an objection. Of several, the strictest is said: one that
keeps the job out before one that only warns, then the one that is broken furthest.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from clusterra.core.cost.charges import HOUR, seconds_between
from clusterra.core.cost.estimate.priced import Priced
from clusterra.core.cost.quota import Mode
from clusterra.core.cost.quota_standing import Figures, Standing
from clusterra.core.errors import Refused
from clusterra.core.money import dollars

HINT = (
    "Ask for fewer nodes or less time, see what is left with `clusterra quota get`, or have an"
    " admin raise the quota."
)


class QuotaExceeded(Refused):
    code = "quota-exceeded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Objection:
    sentence: str
    blocks: bool
    how_far: Fraction
    """What it would come to, as a multiple of the limit."""


def objections(standings: Iterable[Standing], priced: Priced) -> Sequence[Objection]:
    """Return every limit that a job would break, the strictest first."""
    rate = priced.usd_per_hour
    if not rate:  # what costs nothing, or nobody knows what, takes nothing from a quota
        return ()
    found = [
        each
        for standing in standings
        if standing.quota.mode is not Mode.OBSERVE
        for each in _objections(standing, priced, rate)
    ]
    return sorted(found, key=lambda each: (each.blocks, each.how_far), reverse=True)


def uncounted(standings: Iterable[Standing], priced: Priced) -> str:
    """Say that a job is taken without being counted, where that is so; empty where it is not."""
    counting = [
        each for each in standings if each.quota.mode is not Mode.OBSERVE and not each.quota.is_none
    ]
    if priced.usd_per_hour is not None or not counting:
        return ""
    why = priced.why_unknown.rstrip(".") or "no price is known"
    return f"It is not known what this job costs ({why}); no quota counts it."


def cost_within(priced: Priced, figures: Figures, standing: Standing) -> int:
    """Return what a job would cost in a period if it began now and took all its time."""
    left = max(seconds_between(standing.now, figures.period.until), 0)
    most = (priced.usd_per_hour or 0) * left // HOUR
    return most if priced.total is None else min(priced.total, most)


def _objections(standing: Standing, priced: Priced, rate: int) -> Iterable[Objection]:
    quota, who = standing.quota, standing.name
    for figures, limit, when in (
        (standing.month, standing.limit, "this month"),
        (standing.day, quota.day, "today"),
    ):
        adds = cost_within(priced, figures, standing)
        total = figures.projected + figures.waiting + adds
        if limit is not None and total > limit:
            yield _objection(
                standing,
                total,
                limit,
                f"This job would bring {who} to {dollars(total)} {when}; the limit is"
                f" {dollars(limit)}. {_parts(figures)}, this job {dollars(adds)}.",
            )
    whole = cost_within(priced, standing.month, standing) if priced.total is None else priced.total
    each = whole // max(priced.tasks, 1)
    if quota.job is not None and each > quota.job:
        job = "Each task of this array" if priced.tasks > 1 else "This job"
        until = " by the end of the month, as it has no time limit" if priced.total is None else ""
        yield _objection(
            standing,
            each,
            quota.job,
            f"{job} would cost {dollars(each)}{until}; {who} may spend {dollars(quota.job)} on one"
            " job.",
        )
    together = standing.burn + standing.burn_waiting + rate
    if quota.burn is not None and together > quota.burn:
        yield _objection(
            standing,
            together,
            quota.burn,
            f"With this job, what {who} runs would cost {dollars(together)} per hour; the limit is"
            f" {dollars(quota.burn)}. What runs costs {dollars(standing.burn)}, what waits would"
            f" cost {dollars(standing.burn_waiting)}, this job {dollars(rate)}.",
        )


def _objection(standing: Standing, total: int, limit: int, sentence: str) -> Objection:
    return Objection(
        sentence=sentence,
        blocks=standing.quota.mode.blocks,
        how_far=Fraction(total, max(limit, 1)),
    )


def _parts(figures: Figures) -> str:
    parts = [f"Spent so far: {dollars(figures.booked)}"]
    if figures.pending or figures.to_come:
        parts.append(
            f"running jobs have come to {dollars(figures.pending)} and may add"
            f" {dollars(figures.to_come)}"
        )
    if figures.waiting:
        parts.append(f"waiting jobs {dollars(figures.waiting)}")
    return ", ".join(parts)

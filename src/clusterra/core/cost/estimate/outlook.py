"""All that can be said of a job before it is submitted, as one answer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

from clusterra.core.cost.admission import Objection, cost_within
from clusterra.core.cost.estimate.alternatives import Alternative
from clusterra.core.cost.estimate.ground import Ground
from clusterra.core.cost.estimate.priced import Priced
from clusterra.core.cost.prices import is_stale
from clusterra.core.cost.quota_standing import Standing
from clusterra.core.jobs.forecast import Estimate
from clusterra.core.jobs.job import Job
from clusterra.core.scaling.plan import Cause, Wait
from clusterra.core.scaling.shapes import Shape
from clusterra.core.seen import Seen
from clusterra.core.words import count, span


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """How jobs of the same name, of the same person, went that ended well."""

    jobs: int
    median_seconds: float
    longest_seconds: float


class Available(StrEnum):
    """Whether there are workers for it."""

    NOW = "now"
    START = "start"
    """They are asked for when it is submitted."""

    STARTING = "starting"
    """They have been asked for already."""

    WAITS = "waits"
    """It waits for something else first."""

    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    job: Job
    priced: Priced
    shape: Shape | None
    wait: Wait | None
    """What it would wait for, behind all that wait already; None where workers are not ours."""

    start: Estimate | None
    why_no_start: str = ""
    worker_seconds: float | None = None
    """How long a worker of that shape usually takes to come; None if none has come yet."""

    before: Before | None = None
    quotas: Sequence[Standing] = ()
    """Without it: the person's, and what else whoever asks may know of."""

    objections: Sequence[Objection] = ()
    """The limits that it would break, the strictest first."""

    alternatives: Sequence[Alternative] = ()
    warnings: Sequence[str] = ()

    @property
    def available(self) -> Available:
        priced = self.priced
        cause = self.wait.cause if self.wait else priced.cause
        if cause is Cause.WARMING:
            return Available.START if priced.starts else Available.STARTING
        if cause is Cause.ROOM or (cause is None and priced.node):
            return Available.NOW
        unknown = cause is None and priced.why_unknown
        return Available.UNKNOWN if unknown else Available.WAITS

    @property
    def node(self) -> str:
        """One that has room for it, if it would get it now."""
        return self.priced.node if self.available is Available.NOW else ""

    def after_it(self) -> Iterator[tuple[Standing, int | None]]:
        """Return each quota's standing, and what is projected for the month with this job too."""
        for each in self.quotas:
            known = self.priced.usd_per_hour is not None
            month = each.month
            adds = cost_within(self.priced, month, each)
            yield each, month.projected + month.waiting + adds if known else None

    @property
    def likely(self) -> int | None:
        """What it would cost if it took as long as those before it."""
        return self.priced.for_seconds(self.before.median_seconds) if self.before else None


def before(jobs: Sequence[Job]) -> Before | None:
    """Sum up jobs that have ended."""
    took = [
        (each.ended_at - each.started_at).total_seconds() - each.suspended_seconds
        for each in jobs
        if each.started_at is not None and each.ended_at is not None
    ]
    if not took:
        return None
    return Before(jobs=len(took), median_seconds=median(took), longest_seconds=max(took))


def warnings(
    priced: Priced, wait: Wait | None, past: Before | None, ground: Ground
) -> Iterator[str]:
    """Say what whoever asks should know before they submit it."""
    if wait is not None and wait.cause not in (Cause.ROOM, Cause.WARMING):
        yield _sentence(wait.sentence)
    if priced.minutes is None:
        yield "It has no time limit, so there is none to its cost. Give it one, such as --time 2h."
    elif past is not None and past.longest_seconds > priced.minutes * 60:
        yield (
            f"One of {count(past.jobs, 'job')} of this name took {span(past.longest_seconds)}; "
            f"with this time limit it is ended after {span(priced.minutes * 60)}."
        )
    offerings = ground.offerings
    if priced.quote is not None and is_stale(priced.quote, offerings, ground.now):
        silent = f" for {span(offerings.age(ground.now))}" if isinstance(offerings, Seen) else ""
        yield f"The agent that tells prices has been silent{silent}: this is the last it said."


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."

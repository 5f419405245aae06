"""All that can be said of a job before it is submitted, as one answer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median

from clusterra.core.cost.alternatives import Alternative
from clusterra.core.cost.estimate import Priced
from clusterra.core.cost.prices import STALE_AFTER, Source
from clusterra.core.jobs.forecast import Estimate
from clusterra.core.jobs.job import Job
from clusterra.core.scaling.plan import Cause, Wait
from clusterra.core.scaling.shapes import Shape
from clusterra.core.words import count, span


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """How jobs of the same name, of the same person, went that ended well."""

    jobs: int
    median_seconds: float
    longest_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaEffect:
    """What the job would do to a quota. Amounts in millionths of a dollar; None is no limit."""

    whose: str
    """A person, or a workspace."""

    limit: int | None
    """Of this month."""

    spent: int
    projected: int
    """With all that runs or waits taken to its time limit."""

    after: int | None
    """With this job too; None if it is not known what it costs."""

    mode: str
    sentence: str = ""
    """The limit that it would break, if it would break one."""

    blocks: bool = False
    """It would not be taken."""

    @property
    def left(self) -> int | None:
        return None if self.limit is None else max(self.limit - self.projected, 0)


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
    quotas: Sequence[QuotaEffect] = ()
    alternatives: Sequence[Alternative] = ()
    warnings: Sequence[str] = ()

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
    priced: Priced, wait: Wait | None, past: Before | None, now: datetime
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
    quote = priced.quote
    if quote is not None and quote.source is Source.EDGE and now - quote.at > STALE_AFTER:
        yield f"The price is {span(now - quote.at)} old: the agent has not told it since."


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."

"""What happened to a job → what is told about its cost.

With its start, what it costs by the hour; with the end of each run, what that came to. The
ids are made of what Slurm itself says, as those of other job events are, so that whoever
comes to the same end tells the same cost, and the books have it once.

A run ends when the job does, when it is queued again, when it gets or loses nodes, and when
nobody knows of it any more.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from clusterra.core.cost.bill import Bill
from clusterra.core.cost.books import Entry, Payer
from clusterra.core.cost.charges import HOUR
from clusterra.core.cost.open import entry_of
from clusterra.core.cost.prices import Quote
from clusterra.core.events.catalogue.costs import (
    ChargeFact,
    JobCostEstimated,
    JobCostFact,
    JobCostFinalized,
)
from clusterra.core.events.catalogue.jobs import JobEnded, JobStarted
from clusterra.core.events.derive import about, correlation, has_run
from clusterra.core.events.event import Draft
from clusterra.core.ids import uuid8
from clusterra.core.jobs.job import Job, JobState
from clusterra.core.money import per_hour

METER = "system:meter"

OVER = JobState.CANCELLED
"""Stands for the end of a run that is not the end of the job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pricing:
    """How to find out what a job costs."""

    bill: Callable[[Job, datetime], Bill]
    """Up to a moment, from where the books have it."""

    rate: Callable[[Job, datetime], Bill]
    """At a moment, for an hour."""

    quotes: Callable[[Job, datetime], Sequence[Quote]]
    """Of the nodes it has, each once."""

    payer: Callable[[Job], Payer]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    job: Job
    """With what is in the books of it."""

    told: Sequence[Draft] = ()
    ended: Sequence[Job] = ()
    """The runs that are over, as they were."""


def carried(old: Job | None, new: Job) -> Job:
    """Return a job as observed, with what we know of its cost and Slurm does not."""
    if old is None:
        return new
    same_run = old.restarts == new.restarts
    # Accounting says for how long a run was suspended and not when; if it was not again since, we
    # know, and what it cost stays what it has been shown to cost.
    same_pauses = same_run and old.suspended_seconds == new.suspended_seconds
    return replace(
        new,
        paused_at=new.paused_at or (old.paused_at if same_pauses else None),
        billed_micros=old.billed_micros,
        billed_until=old.billed_until if same_run else None,
        why_unbilled=old.why_unbilled,
        billed_runs=old.billed_runs,
        estimated_micros=old.estimated_micros,
    )


def wants_earlier_runs(old: Job | None, new: Job) -> bool:
    """Say whether accounting is to be asked for runs that nobody saw.

    Not for each that was queued again: a node that fails brings hundreds of these, and a run that
    was seen is billed without.
    """
    before = old.restarts if old else 0
    if new.restarts == before and not new.state.ended:
        return False
    known = {*new.billed_runs, before} if old and has_run(old) else {*new.billed_runs}
    return not known.issuperset(range(new.restarts))


def settle(
    old: Job | None,
    new: Job,
    happened: Iterable[Draft],
    earlier: Iterable[Job],
    *,
    pricing: Pricing,
    cluster: str,
    begins: datetime,
    seen_at: datetime,
) -> Settled:
    """Return what is to be told about the cost of a job to which this happened."""
    what = {draft.fact.type: draft for draft in happened}
    books = _Books(job=new, pricing=pricing, cluster=cluster, begins=begins, seen_at=seen_at)
    books.requeued(old, {run.restarts: run for run in earlier})
    if old is not None and new.resized_at is not None and _is_resized(old, new):
        books.resized(old, new.resized_at)
    if JobStarted.type in what:
        books.started(what[JobStarted.type].at)
    ends = [draft for draft in what.values() if isinstance(draft.fact, JobEnded)]
    # One that ended while it waited to run again costs no more, and is over.
    if ends and (has_run(new) or books.job.billed_runs):
        books.ended(ends[-1].at, was_lost=old is not None and old.state is JobState.LOST)
    return Settled(job=books.job, told=books.told, ended=books.ended_runs)


def _is_resized(old: Job, new: Job) -> bool:
    return (
        new.resized_at != old.resized_at
        and new.restarts == old.restarts
        and old.started_at is not None
        and not new.state.ended
        and has_run(old)
    )


class _Books:
    """Writes what one job costs."""

    def __init__(
        self, *, job: Job, pricing: Pricing, cluster: str, begins: datetime, seen_at: datetime
    ) -> None:
        self.job = job
        self.told: list[Draft] = []
        self.ended_runs: list[Job] = []
        self._pricing, self._cluster, self._begins = pricing, cluster, begins
        self._seen_at = seen_at.replace(microsecond=0)

    def started(self, at: datetime) -> None:
        job = self.job
        rate = self._pricing.rate(job, at)
        amount, minutes = rate.usd_per_hour, job.time_limit_minutes
        total = None if amount is None or not minutes else amount * minutes * 60 // HOUR
        self.job = replace(job, estimated_micros=total)
        fact = JobCostEstimated(
            **self._about(job, rate) | {"state": JobState.RUNNING.value},
            rebuilt=job.state.ended,
            basis=tuple(_said(each) for each in self._pricing.quotes(job, at)),
            time_limit_minutes=minutes,
            estimated_micros=total,
        )
        self._tell(job, fact, at=at, word="cost_estimated")

    def requeued(self, old: Job | None, earlier: Mapping[int, Job]) -> None:
        """Bill every run before the present one that is not in the books."""
        runs = dict(earlier)
        seen = old if old is not None and old.restarts < self.job.restarts else None
        if seen is not None and seen.started_at and has_run(seen) and not seen.state.ended:
            known = runs.get(seen.restarts)
            if known and known.ended_at:
                # Accounting also knows of a suspension that nobody saw.
                runs[seen.restarts] = replace(known, billed_until=seen.billed_until)
            else:
                runs[seen.restarts] = replace(seen, ended_at=self._end_of(seen))
        for restarts, run in sorted(runs.items()):
            if restarts < self.job.restarts and run.ended_at is not None:
                whole = replace(run, state=OVER, born_at=self.job.born_at)
                self._finalize(whole, until=run.ended_at, last=False)

    def _end_of(self, run: Job) -> datetime:
        """Return when a run ended because the job was queued again: it was submitted anew then.

        While the old run is being cleared away, Slurm still shows when that was submitted.
        """
        submitted, started = self.job.submitted_at, run.started_at
        return submitted if started is None or submitted > started else self._seen_at

    def resized(self, old: Job, until: datetime) -> None:
        part = replace(old, state=OVER, ended_at=until)
        self._finalize(part, until=until, last=False, once=until)
        self.job = replace(self.job, billed_until=until)

    def ended(self, at: datetime, *, was_lost: bool) -> None:
        lost = self.job.state is JobState.LOST
        self._finalize(
            replace(self.job, ended_at=at),
            until=at,
            last=not was_lost,
            once="lost" if lost else "",
            state=self.job.state,
        )
        self.job = replace(self.job, billed_until=at)

    def _finalize(
        self,
        run: Job,
        *,
        until: datetime,
        last: bool,
        once: object = "",
        state: JobState = JobState.RUNNING,
    ) -> None:
        whole_run = not once
        if until < self._begins or (whole_run and run.restarts in self.job.billed_runs):
            return
        bill = self._pricing.bill(run, until)
        why = self.job.why_unbilled or bill.why_unknown
        total = self.job.billed_micros + (bill.micros or 0)
        fact = JobCostFinalized(
            **self._about(run, bill) | {"state": state.value},
            charges=tuple(
                ChargeFact(
                    since=each.since, until=each.until, usd_per_hour_micros=each.usd_per_hour
                )
                for each in bill.charges
            ),
            seconds=bill.seconds,
            cost_micros=bill.micros,
            total_micros=None if why else total,
            cpus=run.cpus,
            gpus=run.gpus,
            last=last,
        )
        entry = entry_of(run, self._pricing.payer(run), bill, until=until, last=last)
        self._tell(run, fact, at=until, word="cost", once=once, entries=(entry,))
        self.ended_runs.append(run)
        runs = self.job.billed_runs
        self.job = replace(
            self.job,
            billed_micros=total,
            why_unbilled=why,
            billed_runs=(*runs, run.restarts) if whole_run else runs,
        )

    def _about(self, job: Job, bill: Bill) -> dict[str, Any]:
        return about(job, JobCostFact) | {
            "restarts": job.restarts,
            "person": self._pricing.payer(job).person,
            "usd_per_hour_micros": bill.usd_per_hour,
            "estimate": bill.estimate,
            "why_unknown": bill.why_unknown,
        }

    def _tell(
        self,
        job: Job,
        fact: JobCostFact,
        *,
        at: datetime,
        word: str,
        once: object = "",
        entries: tuple[Entry, ...] = (),
    ) -> None:
        id, born = job.key
        self.told.append(
            Draft(
                id=uuid8(self._cluster, "job", id, born, job.restarts, word, once),
                fact=fact,
                at=at,
                actor=METER,
                subject=f"job/{id}",
                correlation=correlation(job),
                entries=entries,
            )
        )


def _said(quote: Quote) -> str:
    """Return `m6i.xlarge on-demand: $0.19/h (table)`."""
    return f"{quote.basis}: {per_hour(quote.usd_per_hour)} ({quote.source})"

"""What is not in the books yet: jobs that run, and what they have come to so far."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from clusterra.core.cost.bill import Bill
from clusterra.core.cost.books import Entry, Payer, Run
from clusterra.core.cost.charges import HOUR, Charge, seconds_between
from clusterra.core.jobs.job import Job, JobState


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """A job that runs or is suspended."""

    job: Job
    payer: Payer
    bill: Bill
    """What is not in the books of it: this run, since its nodes last changed."""

    usd_per_hour: int | None
    """What it costs now; 0 while it is suspended, None if a price is not known."""

    now: datetime

    @property
    def micros(self) -> int | None:
        """What the whole job has cost by now, what is in the books included."""
        if self.job.why_unbilled or self.bill.micros is None:
            return None
        return self.job.billed_micros + self.bill.micros

    def later(self, now: datetime) -> "Open | None":
        """Return it as it is when nothing but time has gone on; None if that cannot be said."""
        if self.job.state is not JobState.RUNNING or now < self.now or not self.bill.charges:
            return None
        *before, last = self.bill.charges
        if last.usd_per_hour != self.usd_per_hour:
            return None  # a price changed in that very moment
        grown = Charge(since=last.since, until=now, usd_per_hour=last.usd_per_hour)
        return Open(
            job=self.job,
            payer=self.payer,
            bill=Bill(
                charges=(*before, grown),
                why_unknown=self.bill.why_unknown,
                estimate=self.bill.estimate,
            ),
            usd_per_hour=self.usd_per_hour,
            now=now,
        )

    def entry(self) -> Entry:
        """Return what it would add to the books if it ended now, except that it has not ended."""
        return entry_of(self.job, self.payer, self.bill, until=self.now, last=False)

    def to_come(self, until: datetime) -> int:
        """Return what it will cost from now on if it takes all its time, up to a moment.

        One without a limit is taken to go on; of one without a price nothing is known to come.
        """
        end = ends_at(self.job)
        over = until if end is None else min(end, until)
        return (self.usd_per_hour or 0) * max(seconds_between(self.now, over), 0) // HOUR


def ends_at(job: Job) -> datetime | None:
    """Return when Slurm will end a running job; None if it has no limit."""
    if job.started_at is None or not job.time_limit_minutes:
        return None
    return job.started_at + timedelta(minutes=job.time_limit_minutes, seconds=job.suspended_seconds)


def entry_of(job: Job, payer: Payer, bill: Bill, *, until: datetime, last: bool) -> Entry:
    """Return what a bill adds to the books."""
    return Entry(
        payer=payer,
        charges=bill.charges,
        cpus=job.cpus,
        gpus=job.gpus,
        until=until,
        jobs=int(last),
        why_unknown=bill.why_unknown,
        run=Run(
            job_id=job.id,
            born_at=job.born_at,
            restarts=job.restarts,
            label=job.label,
            name=job.name,
        ),
    )

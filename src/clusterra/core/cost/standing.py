"""What one job has cost by now, whatever has become of it."""

from dataclasses import dataclass

from clusterra.core.cost.open import Open, ends_at
from clusterra.core.events.derive import has_run
from clusterra.core.jobs.job import HALF_READ, Job, JobState

NOT_READ = "Slurm has not told yet how it ended."
NOT_RECORDED = "It ran before this cluster was connected, when nobody kept what it cost."


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """All amounts in millionths of a dollar."""

    micros: int | None = 0
    """So far, earlier runs included; None if it is not known."""

    usd_per_hour: int | None = None
    """While it runs; None if it does not, or if that is not known."""

    estimated: int | None = None
    """In all, if it takes all its time; None without a limit or a price. Of one that has ended,
    what was estimated when it began."""

    why_unknown: str = ""
    final: bool = False
    """It has ended, and what it cost does not change any more."""


def while_running(open: Open) -> Standing:
    """Return what a job that runs or is suspended has cost."""
    end = ends_at(open.job)
    known = open.micros is not None and open.usd_per_hour is not None and end is not None
    return Standing(
        micros=open.micros,
        usd_per_hour=open.usd_per_hour,
        estimated=(open.micros or 0) + open.to_come(end) if known and end else None,
        why_unknown=open.job.why_unbilled or open.bill.why_unknown,
    )


def at_rest(job: Job) -> Standing:
    """Return what a job that waits or has ended has cost."""
    billed = None if job.why_unbilled else job.billed_micros
    if job.state is JobState.PENDING:
        return Standing(micros=billed, why_unknown=job.why_unbilled)
    why = job.why_unbilled or _why_not_billed(job)
    return Standing(
        micros=None if why else billed,
        estimated=job.estimated_micros,
        why_unknown=why,
        final=HALF_READ not in job.flags,
    )


def _why_not_billed(job: Job) -> str:
    if not has_run(job) or job.restarts in job.billed_runs or job.state is JobState.LOST:
        return ""
    return NOT_READ if HALF_READ in job.flags else NOT_RECORDED

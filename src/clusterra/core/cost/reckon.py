"""Find out what one job has cost by now, whatever has become of it."""

from clusterra.core.cost.open import Open, ends_at
from clusterra.core.cost.so_far import CostSoFar
from clusterra.core.events.derive import has_run
from clusterra.core.jobs.job import HALF_READ, Job, JobState

NOT_READ = "Slurm has not told yet how it ended."
NOT_RECORDED = "It ran before this cluster was connected, when nobody kept what it cost."


def while_running(open: Open) -> CostSoFar:
    """Return what a job that runs or is suspended has cost."""
    end = ends_at(open.job)
    known = open.micros is not None and open.usd_per_hour is not None and end is not None
    return CostSoFar(
        micros=open.micros,
        usd_per_hour=open.usd_per_hour,
        estimated=(open.micros or 0) + open.to_come(end) if known and end else None,
        why_unknown=open.job.why_unbilled or open.bill.why_unknown,
    )


def at_rest(job: Job) -> CostSoFar:
    """Return what a job that waits or has ended has cost."""
    billed = None if job.why_unbilled else job.billed_micros
    if job.state is JobState.PENDING:
        return CostSoFar(micros=billed, why_unknown=job.why_unbilled)
    why = job.why_unbilled or _why_not_billed(job)
    return CostSoFar(
        micros=None if why else billed,
        estimated=job.estimated_micros,
        why_unknown=why,
        final=HALF_READ not in job.flags,
    )


def _why_not_billed(job: Job) -> str:
    if not has_run(job) or job.restarts in job.billed_runs or job.state is JobState.LOST:
        return ""
    return NOT_READ if HALF_READ in job.flags else NOT_RECORDED

"""What one job costs, as the API shows it."""

from clusterra.control.cost.job_cost import JobCost, RunCost
from clusterra.core.cost.charges import accrued
from clusterra.core.jobs.job import Job
from clusterra.wire.usage import ChargeView, JobCostView, JobPrice, RunCostView


def job_cost_view(job: Job, found: JobCost) -> JobCostView:
    so_far = found.so_far
    return JobCostView(
        job_id=job.id,
        label=job.label,
        name=job.name,
        state=job.state.value,
        person=found.person,
        account=job.account,
        micros=so_far.micros,
        usd_per_hour_micros=so_far.usd_per_hour,
        estimated_micros=so_far.estimated,
        final=so_far.final,
        estimate=any(each.estimate for each in found.runs),
        why_unknown=so_far.why_unknown,
        sentence=so_far.words,
        runs=[_run(each) for each in found.runs],
        prices=[
            JobPrice(
                basis=each.quote.basis,
                usd_per_hour_micros=each.quote.usd_per_hour,
                source=each.quote.source.value,
                at=each.quote.at,
                estimate=each.quote.estimate,
                stale=each.stale,
            )
            for each in found.prices
        ],
        basis=list(found.basis),
        sealed_micros=found.sealed,
    )


def _run(run: RunCost) -> RunCostView:
    charges = run.charges
    # Each is what it adds to those before it, so that together they are what the run cost.
    sums = [accrued(charges[: place + 1]) for place in range(len(charges))]
    before = [0, *sums]
    return RunCostView(
        restarts=run.restarts,
        since=charges[0].since if charges else None,
        until=charges[-1].until if charges else None,
        micros=run.micros,
        final=run.final,
        estimate=run.estimate,
        why_unknown=run.why_unknown,
        charges=[
            ChargeView(
                since=each.since,
                until=each.until,
                usd_per_hour_micros=each.usd_per_hour,
                micros=None if each.usd_per_hour is None else sums[place] - before[place],
            )
            for place, each in enumerate(charges)
        ],
    )

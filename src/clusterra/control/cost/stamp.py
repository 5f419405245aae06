"""Write what a job costs into Slurm's own record of it, where sacct and scontrol show it.

A service to people who never open Clusterra, and the least urgent thing it does: a few at a
time, within the budget for calls, and the newest word on a job replaces the one before.
Nothing is ever read back from there.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from clusterra.core.budget import Budget
from clusterra.core.errors import ClusterraError, Unreachable
from clusterra.core.events.catalogue.costs import JobCostEstimated, JobCostFact, JobCostFinalized
from clusterra.core.events.event import Draft
from clusterra.core.jobs.job import Job
from clusterra.core.money import dollars, per_hour
from clusterra.ports import Clock, Slurm

AT_ONCE = 4
"""Stamps in one round."""

MOST = 20_000
"""Jobs that may wait for a stamp; the oldest are given up."""


@dataclass(slots=True)
class Stamps:
    due: dict[int, tuple[Job, str]] = field(default_factory=dict)

    def note(self, told: Iterable[Draft], jobs: Iterable[Job]) -> None:
        """Take note of what was told about the cost of these jobs."""
        by_id = {job.id: job for job in jobs}
        for draft in told:
            fact = draft.fact
            if not isinstance(fact, JobCostFact) or fact.job_id not in by_id:
                continue
            self.due.pop(fact.job_id, None)
            if isinstance(fact, JobCostFinalized) and not fact.last:
                continue  # it goes on, and its next start says more
            if text := said(fact):
                self.due[fact.job_id] = by_id[fact.job_id], text
        while len(self.due) > MOST:
            del self.due[next(iter(self.due))]

    async def write(self, slurm: Slurm, budget: Budget, clock: Clock) -> bool:
        """Write a few; say whether there are more."""
        for _ in range(AT_ONCE):
            if not self.due or not budget.take(clock.now()):
                break
            id = next(iter(self.due))
            job, text = self.due.pop(id)
            try:
                await slurm.stamp(job, text)
            except Unreachable:
                self.due.setdefault(id, (job, text))
                raise
            except ClusterraError:
                continue  # Slurm will not have it; what it cost stands in the ledger
        return bool(self.due)


def said(fact: JobCostFact) -> str:
    """Return what is written: `clusterra: $0.34/h, $0.68 at its time limit`."""
    if fact.why_unknown:
        return "clusterra: cost unknown"
    match fact:
        case JobCostEstimated(estimated_micros=None):
            return f"clusterra: {per_hour(fact.usd_per_hour_micros)}"
        case JobCostEstimated(estimated_micros=int() as total):
            rate = per_hour(fact.usd_per_hour_micros)
            return f"clusterra: {rate}, {dollars(total)} at its time limit"
        case JobCostFinalized(total_micros=int() as total):
            return f"clusterra: cost {dollars(total)}"
    return ""

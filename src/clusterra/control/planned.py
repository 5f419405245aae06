"""The last thing that was decided about a fleet, and from what: what "why" and screens quote."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clusterra.core.jobs.job import Job, JobState
from clusterra.core.scaling.demand import Demand
from clusterra.core.scaling.fleet import Fleet, Worker
from clusterra.core.scaling.plan import Plan
from clusterra.core.scaling.policy import Policy
from clusterra.core.scaling.shapes import Shape
from clusterra.core.seen import Unseen


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    demand: Demand
    workers: Sequence[Worker]
    """As they were when it was decided."""

    fleet: Fleet
    """As it was committed."""

    plan: Plan
    policy: Policy
    shapes: Mapping[str, Shape]

    def waits_for(self, job: Job) -> str:
        """Return what a waiting job waits for, as far as workers are concerned; empty if it does not."""
        wait = self.plan.waits.get(job.id)
        if wait is None or job.state is not JobState.PENDING:
            return ""
        # What the job needs, which comes first, is said of it already.
        return wait.sentence.partition("; ")[2] or wait.sentence


NOT_PLANNED = Unseen("The fleet has not been planned yet.")

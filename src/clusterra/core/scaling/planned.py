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

NO_NODE_YET = "ReqNodeNotAvail"


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
        if job.state is not JobState.PENDING:
            return ""
        if wait is None:
            # Slurm's word for "no node of this moment"; it has just come, and is planned next.
            return "a worker for it is being chosen" if job.reason == NO_NODE_YET else ""
        # What the job needs, which comes first, is said of it already.
        return wait.sentence.partition("; ")[2] or wait.sentence


NOT_PLANNED = Unseen("The fleet has not been planned yet.")

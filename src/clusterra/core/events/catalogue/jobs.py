"""What happens to a job, from its submission to its end."""

from dataclasses import dataclass
from datetime import datetime

from clusterra.core.events.fact import Fact, event


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFact(Fact):
    job_id: int
    """Slurm's id of the job; each task of an array has one of its own."""

    label: str = ""
    """The id as people write it: `41`, `43_5`, `43_[6-9]`."""

    name: str = ""
    user: str = ""
    account: str = ""
    partition: str = ""
    state: str = ""
    """Slurm's word for the state it was in then."""

    restarts: int = 0
    """How often it had been requeued."""

    array_id: int | None = None
    array_task: int | None = None
    run_id: str = ""
    """The submission through Clusterra that made it; empty for jobs submitted past us."""

    rebuilt: bool = False
    """Too short to be seen: told afterwards, from Slurm's own times."""

    observed_by: str = "slurm"
    """`slurm` for what Slurm confirmed; `hook` for what a hook said and Slurm knows nothing of."""


@event("job.submitted")
class JobSubmitted(JobFact):
    """Slurm took a job into its queue."""

    cpus: int = 0
    memory_mib: int = 0
    gpus: int = 0
    nodes_wanted: int = 0
    time_limit_minutes: int | None = None


@event("job.pending")
class JobPending(JobFact):
    """A job has been waiting for some seconds, or now waits for another reason."""

    reason: str = ""
    """Slurm's word for why: Resources, Dependency, QOSMaxCpuPerUserLimit, …"""


@event("job.allocated")
class JobAllocated(JobFact):
    """A job has its nodes and waits for them to be ready."""

    nodes: str = ""


@event("job.started")
class JobStarted(JobFact):
    """A job began to run."""

    nodes: str = ""
    cpus: int = 0
    memory_mib: int = 0
    gpus: int = 0
    waited_seconds: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactTold:
    """A file that a job left behind."""

    key: str
    name: str
    size: int
    role: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEnded(JobFact):
    nodes: str = ""
    reason: str = ""
    exit_code: int | None = None
    signal: int | None = None
    """The signal that ended it, where one did."""

    started_at: datetime | None = None
    ran_seconds: int | None = None
    """None if it never ran."""

    artifacts: tuple[ArtifactTold, ...] = ()
    """The files that it was to leave behind and did, each with `key`, `name`, `size` and `role`."""


@event("job.completed")
class JobCompleted(JobEnded):
    """A job ended with exit code 0."""


@event("job.failed")
class JobFailed(JobEnded):
    """A job ended with another exit code, by a signal, or could not be started."""


@event("job.cancelled")
class JobCancelled(JobEnded):
    """A person or a policy ended a job, before or while it ran."""

    why: str = ""
    """What for, where a policy did."""


@event("job.timeout")
class JobTimeout(JobEnded):
    """A job reached its time limit and was ended."""


@event("job.out_of_memory")
class JobOutOfMemory(JobEnded):
    """A job used more memory than it had asked for and was ended."""


@event("job.node_fail")
class JobNodeFail(JobEnded):
    """A job ended because a node it ran on failed."""


@event("job.preempted")
class JobPreempted(JobEnded):
    """A job was ended to make room for a more important one."""


@event("job.lost")
class JobLost(JobEnded):
    """Slurm answers, and knows a job neither as live nor as ended."""


@event("job.requeued")
class JobRequeued(JobFact):
    """A job went back into the queue, to run again from its beginning."""

    reason: str = ""


@event("job.held")
class JobHeld(JobFact):
    """A waiting job is kept from starting."""

    reason: str = ""


@event("job.released")
class JobReleased(JobFact):
    """A held job may start again."""


@event("job.suspended")
class JobSuspended(JobFact):
    """A running job was stopped for a while."""


@event("job.resumed")
class JobResumed(JobFact):
    """A suspended job runs on."""


@event("job.time_limit_near")
class JobTimeLimitNear(JobFact):
    """A running job has a tenth of its time left, and ten minutes at most."""

    time_limit_minutes: int = 0
    ends_at: datetime | None = None

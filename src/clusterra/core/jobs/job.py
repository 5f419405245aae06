"""A job as the control plane understands it, whatever slurmrestd called its fields."""

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum


class JobState(StrEnum):
    """Slurm's base states, spelled as Slurm spells them, and one of our own (LOST)."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    SUSPENDED = "SUSPENDED"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    TIMEOUT = "TIMEOUT"
    OUT_OF_MEMORY = "OUT_OF_MEMORY"
    NODE_FAIL = "NODE_FAIL"
    PREEMPTED = "PREEMPTED"
    BOOT_FAIL = "BOOT_FAIL"
    DEADLINE = "DEADLINE"
    LOST = "LOST"
    """Slurm answered, and knows this job neither as live nor as ended."""

    @property
    def ended(self) -> bool:
        return self not in LIVE


HALF_READ = "HALF_READ"
"""A flag of ours: only the state is news, the rest is as it was when last read in full."""

LIVE = frozenset({JobState.PENDING, JobState.RUNNING, JobState.SUSPENDED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    id: int
    born_at: datetime
    """When it was first submitted. With `id` it names the job for ever: Slurm starts its ids
    over some day, and a requeue gives the job a new `submitted_at`."""

    submitted_at: datetime
    state: JobState
    flags: tuple[str, ...] = ()
    """What Slurm adds to the state: COMPLETING, CONFIGURING, REQUEUED, …"""

    reason: str = ""
    """Slurm's code for why it waits or how it ended; empty where Slurm says None."""

    reason_said: str = ""
    """What Slurm adds to the code in words, where it does."""

    name: str = ""
    user: str = ""
    account: str = ""
    partition: str = ""
    qos: str = ""
    priority: int | None = None

    cpus: int = 0
    nodes_wanted: int = 0
    memory_mib: int = 0
    """Over all its nodes, as asked for, or as allocated once it runs."""

    gpus: int = 0
    gpu_model: str = ""
    """The model it asks for by name; empty takes any."""

    tasks: int = 0
    cpus_per_task: int = 0
    nodes_most: int = 0
    """The most nodes it may be spread over; 0 is no limit of its own."""

    exclusive: bool = False
    """Shares its nodes with nobody."""

    time_limit_minutes: int | None = None
    """None is no limit."""

    features: str = ""
    """The constraint, as Slurm writes it: `arm64&large`."""

    dependency: str = ""
    reservation: str = ""
    licenses: str = ""
    nodes_required: str = ""
    nodes_excluded: str = ""
    """Slurm's host lists of nodes it insists on, and of those it avoids."""

    nodes: str = ""
    """Slurm's host list of the nodes it runs or ran on."""

    eligible_at: datetime | None = None
    expected_at: datetime | None = None
    """Slurm's own guess at the start of a waiting job, when it has one."""

    started_at: datetime | None = None
    ended_at: datetime | None = None
    suspended_seconds: int = 0
    """How long this run has been suspended in all, a suspension that goes on not counted."""

    paused_at: datetime | None = None
    """When this run was last suspended or resumed."""

    resized_at: datetime | None = None
    """When this run last got or lost nodes."""

    exit_code: int | None = None
    signal: int | None = None
    restarts: int = 0

    array_id: int | None = None
    array_task: int | None = None
    array_waiting: str = ""
    """On the one entry that stands for an array's waiting tasks: which, as `3-9%2`."""

    work_dir: str = ""
    stdout: str = ""
    stderr: str = ""
    run_id: str = ""
    """The submission through us that made it; empty for jobs submitted past us."""

    template: str = ""
    """The recipe that it was made from."""

    chain: str = ""
    """The workflow that it is a step of, by the run id of the whole."""

    step: str = ""

    comment: str = ""

    billed_micros: int = 0
    """What of it is on the bill: its earlier runs, and this one once it has ended."""

    billed_until: datetime | None = None
    """Up to when it is. None while nothing is."""

    billed_runs: tuple[int, ...] = ()
    """Which of its runs are on the bill whole, by restart count."""

    why_unbilled: str = ""
    """Why it is not known what some of it cost."""

    estimated_micros: int | None = None
    """What this run was estimated to cost when it began, up to its time limit."""

    @property
    def key(self) -> tuple[int, int]:
        return self.id, int(self.born_at.timestamp())

    @property
    def label(self) -> str:
        """Its id as people write it: `41`, `43_5`, `43_[6-9]`."""
        if self.array_id is None:
            return str(self.id)
        if self.array_task is not None:
            return f"{self.array_id}_{self.array_task}"
        return f"{self.array_id}_[{self.array_waiting}]"


def stands_for(job: Job, task: int) -> bool:
    """Say whether this is the entry of an array whose waiting tasks include this one."""
    for part in job.array_waiting.partition("%")[0].split(","):
        first, _, last = part.partition(":")[0].partition("-")
        step = part.partition(":")[2] or "1"
        bounds = (first, last or first, step)
        if all(each.isdigit() for each in bounds) and task in range(
            int(first), int(last or first) + 1, int(step)
        ):
            return True
    return False


def continues(old: Job, new: Job) -> Job | None:
    """Return `new` as the same job as `old`, or None if Slurm has given the id to another job.

    A requeue moves the submit time and raises the restart count, the latter a moment later.
    So a later submit time alone is the same job only if that was alive and all else is alike: a
    controller that forgot its queue in a crash starts its ids over.
    """
    same = (
        new.submitted_at == old.submitted_at
        or new.restarts > old.restarts
        or (new.submitted_at > old.submitted_at and not old.state.ended and _alike(old, new))
    )
    return replace(new, born_at=old.born_at) if same else None


def _alike(old: Job, new: Job) -> bool:
    def nature(job: Job) -> tuple[str, ...]:
        return job.run_id, job.user, job.name, job.work_dir

    return nature(old) == nature(new)

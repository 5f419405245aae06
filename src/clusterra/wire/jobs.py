"""Jobs as they travel: what a client sends and what it gets back.

These shapes are the public contract. They repeat some of the core on purpose:
a client's program must not break because a decision was moved.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from clusterra.core.jobs.job import Job

if TYPE_CHECKING:
    from clusterra.core.cost.so_far import CostSoFar


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitJob:
    """The friendly body. Whatever is left out is taken from the script's `#SBATCH` lines."""

    script: str
    name: str | None = None
    cpus: int | None = None
    """CPUs per task; with one task, simply the CPUs of the job."""
    memory: str | int | None = None
    """Per node, as `4G` or a number of MiB."""
    time: str | int | None = None
    """Time limit, as `2h`, `1:30:00` or a number of minutes."""
    gpus: int | str | None = None
    """GPUs per node: a number, or `model:number`."""
    nodes: int | str | None = None
    tasks: int | None = None
    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    array: str | None = None
    dependency: str | None = None
    constraint: str | None = None
    env: dict[str, str] | None = None
    workdir: str | None = None
    output: str | None = None
    error: str | None = None
    begin: str | None = None
    hold: bool | None = None
    requeue: bool | None = None
    exclusive: bool | None = None
    comment: str | None = None
    script_name: str | None = None
    """What it is called among one's files: kept as `scripts/<name>`, with earlier versions."""
    then: list[dict[str, Any]] | None = None
    """What is to follow it, as `[{"when": "failed", "do": {"retry": {}}}]`; `when` is `completed`,
    `failed`, `ended` or an event of jobs, `do` as of an automation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepAccepted:
    step_id: str
    template_id: str
    job_id: int
    run_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobAccepted:
    job_id: int
    run_id: str
    """Ours, made before Slurm was asked; it stays the same when a request is repeated."""
    user: str
    warnings: list[str] = field(default_factory=list)
    workflow_id: str | None = None
    """Of several jobs that depend on each other; `job_id` is the first of them then."""

    steps: list[StepAccepted] | None = None
    """The jobs that a recipe came to."""

    schedule_id: str | None = None
    """Where it is to be started again and again."""

    next_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobView:
    job_id: int
    label: str
    """The id as people write it: `41`, `43_5`, `43_[6-9]`."""
    state: str
    flags: list[str]
    reason: str
    name: str
    user: str
    account: str
    partition: str
    qos: str
    priority: int | None
    cpus: int
    nodes_wanted: int
    memory_mib: int
    gpus: int
    time_limit_minutes: int | None
    features: str
    dependency: str
    nodes: str
    submitted_at: datetime
    eligible_at: datetime | None
    expected_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    exit_code: int | None
    signal: int | None
    restarts: int
    array_id: int | None
    array_task: int | None
    work_dir: str
    stdout: str
    stderr: str
    run_id: str
    comment: str
    template: str = ""
    """The recipe that it was made from; empty for a script."""
    workflow_id: str = ""
    """The workflow that it is a step of."""
    step: str = ""
    waits_for: str = ""
    """While it waits for workers that we start: what for, in words."""
    cost_micros: int | None = None
    """What it has cost so far, in millionths of a dollar; null if it is not known or not for you."""
    usd_per_hour_micros: int | None = None
    """What it costs now, while it runs."""
    estimated_micros: int | None = None
    """If it takes all its time; of one that has ended, what was estimated when it began."""
    cost_unknown: str = ""
    """Why it is not known what it costs."""
    cost_final: bool = False
    """It has ended, and this does not change any more."""

    @classmethod
    def of(cls, job: Job, waits_for: str = "", cost: "CostSoFar | None" = None) -> "JobView":
        """Show a job; without a cost where that is not for whoever asks."""
        return cls(
            job_id=job.id,
            label=job.label,
            state=job.state.value,
            flags=list(job.flags),
            reason=job.reason,
            name=job.name,
            user=job.user,
            account=job.account,
            partition=job.partition,
            qos=job.qos,
            priority=job.priority,
            cpus=job.cpus,
            nodes_wanted=job.nodes_wanted,
            memory_mib=job.memory_mib,
            gpus=job.gpus,
            time_limit_minutes=job.time_limit_minutes,
            features=job.features,
            dependency=job.dependency,
            nodes=job.nodes,
            submitted_at=job.submitted_at,
            eligible_at=job.eligible_at,
            expected_at=job.expected_at,
            started_at=job.started_at,
            ended_at=job.ended_at,
            exit_code=job.exit_code,
            signal=job.signal,
            restarts=job.restarts,
            array_id=job.array_id,
            array_task=job.array_task,
            work_dir=job.work_dir,
            stdout=job.stdout,
            stderr=job.stderr,
            run_id=job.run_id,
            comment=job.comment,
            template=job.template,
            workflow_id=job.chain,
            step=job.step,
            waits_for=waits_for,
            cost_micros=cost.micros if cost else None,
            usd_per_hour_micros=cost.usd_per_hour if cost else None,
            estimated_micros=cost.estimated if cost else None,
            cost_unknown=cost.why_unknown if cost else "",
            cost_final=cost.final if cost else False,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPage:
    jobs: list[JobView]
    next: str | None
    """Pass it back as `cursor` for the following page; null on the last."""
    total: int
    """How many jobs match in all."""
    observed_at: datetime | None
    """When Slurm was last seen; null if it has not been seen yet."""
    age_seconds: float | None
    stale: bool
    """True when Slurm cannot be seen at the moment, so this is what was last known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EditJob:
    name: str | None = None
    time: str | int | None = None
    priority: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelJobs:
    """Cancel every live job that a query finds."""

    query: str
    dry_run: bool = True
    """Only count them. This is the default: say false to really cancel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelFailure:
    job_id: int
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobsCancelled:
    count: int
    """How many the query found (dry run), or how many were cancelled."""
    dry_run: bool
    job_ids: list[int]
    failed: list[CancelFailure] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobAct:
    """What an act on one job came to."""

    job_id: int
    act: str
    """cancel, hold, release, requeue or edit"""
    state: str
    """The job's state when the act was accepted; Slurm may take a moment to follow."""

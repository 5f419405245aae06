"""Several jobs of which some wait for others: what is kept of them, and how they stand."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from clusterra.core.change import Kind
from clusterra.core.jobs.job import Job, JobState


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRun:
    step_id: str
    template_id: str
    run_id: str
    depends_on: tuple[str, ...] = ()
    display_name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    id: str
    cluster: str
    user: str
    """The Linux user whose jobs they are."""

    name: str
    at: datetime
    steps: tuple[StepRun, ...]
    template_id: str = ""
    """Empty for steps of one's own."""

    directory: str = ""
    """Where its steps write, each into a directory of its own."""

    undone: bool = False
    """A step was refused, and those before it were cancelled."""


WORKFLOW: Kind[Workflow] = Kind("workflow", Workflow)
"""By cluster and id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepState:
    run: StepRun
    job: Job | None
    why: str = ""
    """Why it has not run and will not."""


_NEVER_STARTED = (JobState.CANCELLED, JobState.PENDING)


def step_states(workflow: Workflow, jobs: Mapping[str, Job]) -> tuple[StepState, ...]:
    """Say how each step stands; `jobs` are by run id."""
    known = {each.step_id: jobs.get(each.run_id) for each in workflow.steps}
    return tuple(
        StepState(run=each, job=known[each.step_id], why=_why(each, known, workflow.steps))
        for each in workflow.steps
    )


def overall(states: Sequence[StepState]) -> str:
    """Say how the whole stands, in the words of one job."""
    jobs = [each.job for each in states]
    if any(job is not None and job.state.ended and not _succeeded(job) for job in jobs):
        running = any(
            job is not None and not job.state.ended and not each.why
            for each, job in zip(states, jobs, strict=True)
        )
        return JobState.RUNNING.value if running else JobState.FAILED.value
    if jobs and all(job is not None and _succeeded(job) for job in jobs):
        return JobState.COMPLETED.value
    if any(job is not None and (job.started_at or job.state.ended) for job in jobs):
        return JobState.RUNNING.value
    return JobState.PENDING.value


def _why(step: StepRun, known: Mapping[str, Job | None], steps: Sequence[StepRun]) -> str:
    job = known[step.step_id]
    if job is not None and (job.started_at is not None or job.state not in _NEVER_STARTED):
        return ""
    by_id = {each.step_id: each for each in steps}
    seen: set[str] = set()
    waiting = list(step.depends_on)
    while waiting:
        name = waiting.pop(0)
        if name in seen or name not in by_id:
            continue
        seen.add(name)
        upstream = known[name]
        if upstream is not None and upstream.started_at and _failed(upstream):
            return f"It was not started: the step {name} {how_it_ended(upstream)}."
        waiting += by_id[name].depends_on
    return ""


def array_as_one(tasks: Sequence[Job]) -> Job:
    """Return one job that stands as a whole array does: it runs until the last task has ended, and
    has failed if one of them has."""
    begun = [each.started_at for each in tasks if each.started_at]
    live = [each for each in tasks if not each.state.ended]
    failed = [each for each in tasks if _failed(each)]
    # One that ran says why it failed; one that was cancelled because of it does not.
    telling = (live or sorted(failed, key=lambda each: each.started_at is None) or tasks)[0]
    state = JobState.RUNNING if live and begun else telling.state
    return replace(
        telling,
        id=telling.array_id or telling.id,
        state=state,
        started_at=min(begun, default=None),
    )


def how_it_ended(job: Job) -> str:
    """Say how a job failed, after its name: `failed with exit code 3`."""
    match job.state:
        case JobState.FAILED if job.exit_code:
            return f"failed with exit code {job.exit_code}"
        case JobState.FAILED:
            return "failed"
        case JobState.OUT_OF_MEMORY:
            return "ran out of memory"
        case JobState.TIMEOUT:
            return "reached its time limit"
        case JobState.CANCELLED:
            return "was cancelled"
        case _:
            return f"ended as {job.state.value}"


def _failed(job: Job) -> bool:
    return job.state.ended and not _succeeded(job)


def _succeeded(job: Job) -> bool:
    return job.state is JobState.COMPLETED

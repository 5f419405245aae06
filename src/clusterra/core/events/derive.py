"""Two observations of a job → the events between them.

What was too short to be seen is rebuilt from Slurm's own times. Ids are made of
what Slurm itself says (cluster, job, first submission, restart count, what
happened), so that a hook, a look at the queue and a look into accounting come to
the same event, and the ledger keeps it once. What only time brings about (a job
that still waits, a limit that comes near) is in `ripe`.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from clusterra.core.events.catalogue import jobs as facts
from clusterra.core.events.event import Draft
from clusterra.core.events.fact import Fact
from clusterra.core.ids import uuid8
from clusterra.core.jobs.job import Job, JobState

NOTABLE = timedelta(seconds=5)
"""A wait shorter than this is no event: most jobs wait for a moment, and whether anybody
looks in that moment is chance."""

NEAR_SHARE = 10
NEAR_MOST = timedelta(minutes=10)
"""A limit is near when a tenth of it is left, and ten minutes at most."""

LONGEST_NAME = 256
"""Of a job's name in an event. Names are free text of any length."""

CONFIGURING = "CONFIGURING"
HELD = frozenset({"JobHeldUser", "JobHeldAdmin"})
IN_THE_QUEUE = frozenset({"", "None", "Priority", "Resources"})
"""Reasons that alternate with every pass of the scheduler and all mean: it is not its turn."""

SLURM = "system:slurm"

_STATE_THEN: Mapping[type[Fact], JobState] = {
    facts.JobSubmitted: JobState.PENDING,
    facts.JobPending: JobState.PENDING,
    facts.JobRequeued: JobState.PENDING,
    facts.JobHeld: JobState.PENDING,
    facts.JobAllocated: JobState.RUNNING,
    facts.JobStarted: JobState.RUNNING,
    facts.JobTimeLimitNear: JobState.RUNNING,
}
"""The state a job was in when it happened, where that is not the state it was seen in."""

_ENDS: Mapping[JobState, type[facts.JobEnded]] = {
    JobState.COMPLETED: facts.JobCompleted,
    JobState.FAILED: facts.JobFailed,
    JobState.CANCELLED: facts.JobCancelled,
    JobState.TIMEOUT: facts.JobTimeout,
    JobState.OUT_OF_MEMORY: facts.JobOutOfMemory,
    JobState.NODE_FAIL: facts.JobNodeFail,
    JobState.PREEMPTED: facts.JobPreempted,
    JobState.BOOT_FAIL: facts.JobFailed,
    JobState.DEADLINE: facts.JobTimeout,
    JobState.LOST: facts.JobLost,
}


_END_WORDS = {"ended"} | {kind.type.removeprefix("job.") for kind in _ENDS.values()}


def is_behind(new: Job, old: Job) -> bool:
    """Say whether `new` tells of an earlier moment than `old`: it comes late, and moves nothing."""
    return _place(new) < _place(old)


def _place(job: Job) -> tuple[int, datetime, int]:
    """Return how far a job has come. A requeue moves its submit time before it counts as a restart."""
    if job.state is JobState.LOST:
        how_far = 1  # any sign of life is news
    else:
        how_far = 0 if job.state is JobState.PENDING else 2 if job.state.ended else 1
    return job.restarts, job.submitted_at, how_far


def reflects(job: Job, what: str, restarts: int) -> bool:
    """Say whether a job as seen shows what somebody said happened to it."""
    if job.restarts > restarts:
        return True
    match what:
        case "allocated" | "started":
            return job.state is not JobState.PENDING
        case "submitted" | "touched":
            return True
        case _ if what in _END_WORDS:
            return job.state.ended
    return True


def derive(
    old: Job | None,
    new: Job,
    *,
    cluster: str,
    now: datetime,
    by: Mapping[str, str] | None = None,
    why_cancelled: str = "",
    artifacts: tuple[facts.ArtifactTold, ...] = (),
) -> list[Draft]:
    """Return what happened to a job since `old`, oldest first.

    `by` names who did it, where a person did: `{"cancelled": "user:ana"}`. `artifacts` are told
    with its end.
    """
    if old is not None and is_behind(new, old):
        return []
    tell = _Teller(new, cluster=cluster, by=by or {})
    if old is None:
        tell(facts.JobSubmitted, "submitted", at=new.born_at, restarts=0, **_wants(new))
    for restart in range(1 + (old.restarts if old else 0), new.restarts + 1):
        tell(
            facts.JobRequeued,
            "requeued",
            at=new.submitted_at,
            restarts=restart,
            rebuilt=restart < new.restarts,
        )
    run = old if old is not None and old.restarts == new.restarts else None
    _tell_of_waiting(tell, run, new, now)
    _tell_of_running(tell, run, new, now)
    _tell_of_the_end(tell, run, new, now, why_cancelled, artifacts)
    return sorted(tell.told, key=lambda draft: draft.at)


def ripe(job: Job, *, cluster: str, now: datetime) -> list[Draft]:
    """Return what time alone has made true of a job as it was last seen."""
    tell = _Teller(job, cluster=cluster, by={})
    if job.state is JobState.PENDING and not is_held(job):
        _tell_of_a_wait(tell, job, until=now)
    elif job.state is JobState.RUNNING and CONFIGURING in job.flags:
        if job.started_at and now - job.started_at >= NOTABLE:
            tell(facts.JobAllocated, "allocated", at=job.started_at, nodes=job.nodes)
    elif job.state is JobState.RUNNING:
        _tell_of_the_limit(tell, job, until=now)
    return tell.told


def ripens_at(job: Job) -> datetime | None:
    """Return when `ripe` may next have something to say of this job."""
    if job.state is JobState.PENDING and not is_held(job):
        return _waiting_since(job) + NOTABLE
    if job.state is JobState.RUNNING and job.started_at:
        return job.started_at + NOTABLE if CONFIGURING in job.flags else near_limit(job)
    return None


def is_end(old: Job | None, new: Job) -> bool:
    """Say whether a job has ended since `old`."""
    if old is not None and old.restarts != new.restarts:
        old = None
    return new.state.ended and not (
        old is not None and old.state.ended and old.state is not JobState.LOST
    )


def is_held(job: Job) -> bool:
    return job.state is JobState.PENDING and job.reason in HELD


def has_run(job: Job) -> bool:
    """Say whether it began to run. A job cancelled in the queue has a start, but no nodes."""
    if job.state is JobState.RUNNING:
        return CONFIGURING not in job.flags
    if job.state is JobState.SUSPENDED:
        return True
    return job.state.ended and job.started_at is not None and bool(job.nodes)


def near_limit(job: Job) -> datetime | None:
    if job.started_at is None or not job.time_limit_minutes:
        return None
    limit = timedelta(minutes=job.time_limit_minutes)
    return job.started_at + limit - min(limit / NEAR_SHARE, NEAR_MOST)


def _tell_of_waiting(tell: "_Teller", run: Job | None, new: Job, now: datetime) -> None:
    was_held = run is not None and is_held(run)
    if is_held(new) and not was_held:
        at = now if run else new.submitted_at
        tell(facts.JobHeld, "held", at=at, once=at, reason=new.reason)
    elif was_held and not is_held(new) and not new.state.ended:
        tell(facts.JobReleased, "released", at=now, once=now)
    if new.state is JobState.PENDING and not is_held(new):
        same = run is None or run.reason == new.reason
        _tell_of_a_wait(tell, new, until=now, at=None if same else now)
    elif run is None or run.state is JobState.PENDING:
        # It waits no longer; if it waited long and nobody said so, that is said now.
        over = new.started_at or new.ended_at
        if over and not was_held:
            _tell_of_a_wait(tell, run or new, until=over, rebuilt=True)


def _tell_of_a_wait(
    tell: "_Teller",
    job: Job,
    *,
    until: datetime,
    at: datetime | None = None,
    rebuilt: bool = False,
) -> None:
    since = _waiting_since(job)
    if until - since >= NOTABLE:
        reason = job.reason if job.state is JobState.PENDING else ""
        what = "queue" if reason in IN_THE_QUEUE else reason
        at = at or since + NOTABLE
        tell(facts.JobPending, "pending", at=at, once=what, reason=reason, rebuilt=rebuilt)


def _waiting_since(job: Job) -> datetime:
    return max(job.eligible_at or job.submitted_at, job.submitted_at)


def _tell_of_running(tell: "_Teller", run: Job | None, new: Job, now: datetime) -> None:
    if has_run(new) and not (run and has_run(run)):
        at = new.started_at or now
        tell(
            facts.JobStarted,
            "started",
            at=at,
            rebuilt=new.state.ended,
            nodes=new.nodes,
            cpus=new.cpus,
            memory_mib=new.memory_mib,
            gpus=new.gpus,
            waited_seconds=max(int((at - new.submitted_at).total_seconds()), 0),
        )
    suspended = new.state is JobState.SUSPENDED
    was_suspended = run is not None and run.state is JobState.SUSPENDED
    if suspended and not was_suspended:
        tell(facts.JobSuspended, "suspended", at=now, once=now)
    elif was_suspended and new.state is JobState.RUNNING:
        tell(facts.JobResumed, "resumed", at=now, once=now)
    if has_run(new):
        until = new.ended_at or now
        _tell_of_the_limit(tell, new, until=until, rebuilt=new.state.ended)


def _tell_of_the_limit(
    tell: "_Teller", job: Job, *, until: datetime, rebuilt: bool = False
) -> None:
    near = near_limit(job)
    if near is not None and job.started_at is not None and near <= until:
        minutes = job.time_limit_minutes or 0
        tell(
            facts.JobTimeLimitNear,
            "time_limit_near",
            at=near if rebuilt else until,
            rebuilt=rebuilt,
            time_limit_minutes=minutes,
            ends_at=job.started_at + timedelta(minutes=minutes),
        )


def _tell_of_the_end(
    tell: "_Teller",
    run: Job | None,
    new: Job,
    now: datetime,
    why_cancelled: str,
    artifacts: tuple[facts.ArtifactTold, ...],
) -> None:
    if not is_end(run, new):
        return
    at, ran = new.ended_at or now, None
    if has_run(new) and new.started_at is not None:
        ran = max(int((at - new.started_at).total_seconds()), 0)
    more: dict[str, Any] = {"why": why_cancelled} if new.state is JobState.CANCELLED else {}
    tell(
        _ENDS[new.state],
        "lost" if new.state is JobState.LOST else "ended",
        at=at,
        nodes=new.nodes,
        reason=new.reason,
        exit_code=new.exit_code,
        signal=new.signal,
        started_at=new.started_at if ran is not None else None,
        ran_seconds=ran,
        artifacts=artifacts,
        **more,
    )


class _Teller:
    """Writes drafts about one job."""

    def __init__(self, job: Job, *, cluster: str, by: Mapping[str, str]) -> None:
        self._job, self._cluster, self._by = job, cluster, by
        self.told: list[Draft] = []

    def __call__(
        self,
        kind: type[facts.JobFact],
        word: str,
        *,
        at: datetime,
        restarts: int | None = None,
        once: object = "",
        **more: Any,
    ) -> None:
        job = self._job
        restarts = job.restarts if restarts is None else restarts
        id, born = job.key
        self.told.append(
            Draft(
                id=uuid8(self._cluster, "job", id, born, restarts, word, once),
                fact=kind(**about(job, kind), restarts=restarts, **more),
                at=at,
                actor=self._by.get(kind.type.removeprefix("job.")) or _usually(kind, job),
                subject=f"job/{id}",
                correlation=correlation(job),
            )
        )


def correlation(job: Job) -> str:
    """Return what ties this job to its fellows: its run, its array, or only itself."""
    if job.run_id:
        return f"run/{job.run_id}"
    return f"job/{job.array_id or job.id}/{int(job.born_at.timestamp())}"


def _usually(kind: type[Fact], job: Job) -> str:
    return f"user:{job.user}" if kind is facts.JobSubmitted and job.user else SLURM


def about(job: Job, kind: type[Fact]) -> dict[str, Any]:
    """Return what every event about a job says of it."""
    return {
        "job_id": job.id,
        "label": job.label,
        "name": job.name[:LONGEST_NAME],
        "user": job.user,
        "account": job.account,
        "partition": job.partition,
        "state": _STATE_THEN.get(kind, job.state).value,
        "array_id": job.array_id,
        "array_task": job.array_task,
        "run_id": job.run_id,
    }


def _wants(job: Job) -> dict[str, Any]:
    return {
        "cpus": job.cpus,
        "memory_mib": job.memory_mib,
        "gpus": job.gpus,
        "nodes_wanted": job.nodes_wanted,
        "time_limit_minutes": job.time_limit_minutes,
    }

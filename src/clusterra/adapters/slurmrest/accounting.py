"""Jobs as slurmdbd remembers them, in shapes of its own.

Times are plain numbers, the waiting tasks of an array a bit mask, resources lists of
objects, and output paths what the person wrote. Which rows are one
run of a job is said in `runs`.
"""

from datetime import timedelta
from typing import Any

import msgspec

from clusterra.adapters.slurmrest.decode import EPOCH, Amount, ExitCode, moment, whole
from clusterra.adapters.slurmrest.jobs import Resources, base_state
from clusterra.adapters.slurmrest.output import Naming, expand
from clusterra.core.jobs import comment
from clusterra.core.jobs.job import Job, JobState

NOWHERE = "None assigned"
"""What slurmdbd has for the nodes of a job that never got any."""

SUPERSEDED = frozenset({"REQUEUED", "RESIZING"})
"""What it says of a row that another one follows, where it does."""


class Array(msgspec.Struct, frozen=True, gc=False):
    job_id: Amount = None
    task_id: Amount = None
    task: str = ""
    limits: dict[str, Any] | None = None


class Comment(msgspec.Struct, frozen=True, gc=False):
    job: str = ""


class State(msgspec.Struct, frozen=True, gc=False):
    current: list[str] = []
    reason: str = ""


class Times(msgspec.Struct, frozen=True, gc=False):
    elapsed: Amount = None
    """Without the time in which it was suspended."""
    eligible: Amount = None
    end: Amount = None
    limit: Amount = None
    start: Amount = None
    submission: Amount = None
    suspended: Amount = None


class Trackable(msgspec.Struct, frozen=True, gc=False):
    type: str = ""
    name: str | None = ""
    count: Amount = 0


class Tres(msgspec.Struct, frozen=True, gc=False):
    allocated: list[Trackable] = []
    requested: list[Trackable] = []


class Association(msgspec.Struct, frozen=True, gc=False):
    user: str = ""


class PastJob(msgspec.Struct, frozen=True, gc=False):
    """A job's members in /slurmdb/…/jobs/, those we use."""

    job_id: int = 0
    account: str = ""
    array: Array = Array()
    association: Association = Association()
    comment: Comment = Comment()
    constraints: str = ""
    exit_code: ExitCode = ExitCode()
    name: str = ""
    nodes: str = ""
    partition: str = ""
    priority: Amount = None
    qos: str = ""
    restart_cnt: int = 0
    state: State = State()
    stderr: str = ""
    stdout: str = ""
    time: Times = Times()
    tres: Tres = Tres()
    user: str = ""
    working_directory: str = ""


def past_job(past: PastJob) -> Job:
    state, flags = base_state(tuple(past.state.current))
    array, task = whole(past.array.job_id) or None, whole(past.array.task_id)
    nodes = "" if past.nodes == NOWHERE else past.nodes
    started = nodes != "" and (state is not JobState.PENDING or not SUPERSEDED.isdisjoint(flags))
    resources = _resources(past.tres.allocated if started else past.tres.requested)
    naming = Naming(
        job=past.job_id,
        array=array,
        task=task,
        user=past.user or past.association.user,
        name=past.name,
        nodes=nodes,
        work_dir=past.working_directory,
    )
    stdout = expand(past.stdout, naming)
    mark = comment.read(past.comment.job)
    submitted = moment(past.time.submission) or EPOCH
    over = state.ended and started
    started_at = moment(past.time.start) if started else None
    paused_at, suspended = None, whole(past.time.suspended) or 0
    if state is JobState.SUSPENDED and started_at is not None:
        # It counts a suspension that goes on, and does not say since when: as if it were the first.
        paused_at = started_at + timedelta(seconds=whole(past.time.elapsed) or 0)
        suspended = 0
    return Job(
        id=past.job_id,
        born_at=submitted,
        submitted_at=submitted,
        state=state,
        flags=flags,
        # Of a job that no longer waits, slurmdbd keeps why it last waited: not how it ended.
        reason=past.state.reason
        if state is JobState.PENDING and past.state.reason != "None"
        else "",
        name=past.name,
        user=naming.user,
        account=past.account,
        partition=past.partition,
        qos=past.qos,
        priority=whole(past.priority),
        cpus=resources.cpus,
        nodes_wanted=resources.nodes,
        memory_mib=resources.memory_mib,
        gpus=resources.gpus,
        time_limit_minutes=whole(past.time.limit),
        features=past.constraints,
        nodes=nodes,
        eligible_at=moment(past.time.eligible),
        started_at=started_at,
        ended_at=moment(past.time.end) if state.ended else None,
        suspended_seconds=suspended,
        paused_at=paused_at,
        exit_code=whole(past.exit_code.return_code) if over else None,
        signal=whole(past.exit_code.signal.id) if over else None,
        restarts=past.restart_cnt,
        array_id=array,
        array_task=task if array else None,
        array_waiting=_waiting(past.array) if array and task is None else "",
        work_dir=past.working_directory,
        stdout=stdout,
        stderr=expand(past.stderr, naming) or stdout,
        run_id=mark.run_id,
        template=mark.template,
        chain=mark.chain,
        step=mark.step,
        comment=mark.note,
    )


def _resources(trackables: list[Trackable]) -> Resources:
    counts: dict[str, int] = {}
    for each in trackables:
        kind = f"{each.type}/{each.name}" if each.name else each.type
        counts[kind] = max(whole(each.count) or 0, 0)
    typed = sum(count for kind, count in counts.items() if kind.startswith("gres/gpu:"))
    return Resources(
        cpus=counts.get("cpu", 0),
        nodes=counts.get("node", 0),
        memory_mib=counts.get("mem", 0),
        gpus=counts.get("gres/gpu", typed),
    )


def _waiting(array: Array) -> str:
    """Write `0x3C` with at most 2 at a time as `2-5%2`."""
    if not array.task.startswith("0x"):
        return array.task
    try:
        mask = int(array.task, 16)
    except ValueError:  # Slurm cuts very long masks short
        return ""
    waiting = [n for n in range(mask.bit_length()) if mask >> n & 1]
    runs: list[list[int]] = []
    for n in waiting:
        if runs and n == runs[-1][-1] + 1:
            runs[-1][1:] = [n]
        else:
            runs.append([n])
    text = ",".join("-".join(map(str, run)) for run in runs)
    at_once = _at_once(array.limits)
    return f"{text}%{at_once}" if at_once else text


def _at_once(limits: dict[str, Any] | None) -> int:
    try:
        return int((limits or {})["max"]["running"]["tasks"])
    except (KeyError, TypeError, ValueError):
        return 0

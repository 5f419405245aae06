"""Jobs as slurmctld has them: waiting, running, and ended a short while ago."""

import re
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

import msgspec

from clusterra.adapters.slurmrest.decode import (
    EPOCH,
    Amount,
    Envelope,
    ExitCode,
    moment,
    whole,
)
from clusterra.adapters.slurmrest.output import Naming, expand, tasks_to_come
from clusterra.core.errors import Invalid
from clusterra.core.jobs import comment
from clusterra.core.jobs.job import Job, JobState
from clusterra.core.units import parse_memory_mib


class JobInfo(msgspec.Struct, frozen=True, gc=False):
    """A job's members in /jobs/ and /job/{id}, those we use."""

    job_id: int = 0
    account: str = ""
    array_job_id: Amount = None
    array_task_id: Amount = None
    array_task_string: str = ""
    comment: str = ""
    cpus_per_task: Amount = None
    current_working_directory: str = ""
    dependency: str = ""
    eligible_time: Amount = None
    end_time: Amount = None
    excluded_nodes: str = ""
    exit_code: ExitCode = ExitCode()
    features: str = ""
    job_state: list[str] = []
    licenses: str = ""
    max_nodes: Amount = None
    name: str = ""
    nodes: str = ""
    partition: str = ""
    pre_sus_time: Amount = None
    priority: Amount = None
    qos: str = ""
    required_nodes: str = ""
    resize_time: Amount = None
    restart_cnt: int = 0
    resv_name: str = ""
    shared: list[str] = []
    standard_error: str = ""
    standard_output: str = ""
    start_time: Amount = None
    state_description: str = ""
    state_reason: str = ""
    stderr_expanded: str = ""
    stdout_expanded: str = ""
    submit_time: Amount = None
    suspend_time: Amount = None
    tasks: Amount = None
    time_limit: Amount = None
    tres_alloc_str: str = ""
    tres_per_job: str = ""
    tres_per_node: str = ""
    tres_per_task: str = ""
    tres_req_str: str = ""
    user_name: str = ""


class JobsReply(Envelope, frozen=True):
    jobs: list[msgspec.Raw] | None = None


class Resources(NamedTuple):
    cpus: int = 0
    nodes: int = 0
    memory_mib: int = 0
    gpus: int = 0
    gpu_model: str = ""


def job(info: JobInfo) -> Job:
    state, flags = base_state(tuple(info.job_state))
    array, task = whole(info.array_job_id) or None, whole(info.array_task_id)
    # A job cancelled while it waited also has a start time, but never a node.
    waits, ended = state is JobState.PENDING, state.ended
    started = bool(info.nodes) if ended else not waits
    cpus, nodes_wanted, memory_mib, gpus, gpu_model = tres(
        info.tres_alloc_str if started else info.tres_req_str
    )
    stdout, stderr = _outputs(info, array, task)
    mark = comment.read(info.comment)
    submitted = moment(info.submit_time) or EPOCH
    started_at = moment(info.start_time) if started else None
    # msgspec fills a frozen dataclass three times faster than the class itself does.
    facts = {
        "id": info.job_id,
        "born_at": submitted,
        "submitted_at": submitted,
        "state": state,
        "flags": flags,
        "reason": "" if info.state_reason == "None" else info.state_reason,
        "reason_said": info.state_description if waits else "",
        "name": info.name,
        "user": info.user_name,
        "account": info.account,
        "partition": info.partition,
        "qos": info.qos,
        "priority": whole(info.priority),
        "cpus": cpus,
        "nodes_wanted": nodes_wanted,
        "memory_mib": memory_mib,
        "gpus": gpus,
        "gpu_model": gpu_model or (_model_asked(info) if gpus else ""),
        "tasks": whole(info.tasks) or 0,
        "cpus_per_task": whole(info.cpus_per_task) or 0,
        "nodes_most": whole(info.max_nodes) or 0,
        # Slurm's "shares with: none".
        "exclusive": "none" in info.shared,
        "time_limit_minutes": whole(info.time_limit),
        "features": info.features,
        "dependency": info.dependency,
        "reservation": info.resv_name,
        "licenses": info.licenses,
        "nodes_required": info.required_nodes,
        "nodes_excluded": info.excluded_nodes,
        "nodes": info.nodes,
        "eligible_at": moment(info.eligible_time),
        "expected_at": moment(info.start_time) if waits else None,
        "started_at": started_at,
        "ended_at": moment(info.end_time) if ended else None,
        "exit_code": whole(info.exit_code.return_code) if ended and started else None,
        "signal": whole(info.exit_code.signal.id) if ended and started else None,
        "restarts": info.restart_cnt,
        "array_id": array,
        "array_task": task if array else None,
        "array_waiting": info.array_task_string if array and task is None else "",
        "work_dir": info.current_working_directory,
        "stdout": stdout,
        "stderr": stderr,
        "run_id": mark.run_id,
        "comment": mark.note,
    }
    if mark.template or mark.chain:
        facts |= {"template": mark.template, "chain": mark.chain, "step": mark.step}
    if started_at:
        if paused_at := moment(info.suspend_time):
            facts["paused_at"] = paused_at
            facts["suspended_seconds"] = _suspended(info, started_at, paused_at)
        # 24.11 keeps the time of a resize when the job is queued again.
        if (resized_at := moment(info.resize_time)) and resized_at >= started_at:
            facts["resized_at"] = resized_at
    return msgspec.convert(facts, Job)


def _suspended(info: JobInfo, started_at: datetime, paused_at: datetime) -> int:
    """Return for how many seconds a run had been suspended when that last began or ended.

    Slurm says how long it had run by then; the rest of the time since its start it was suspended.
    """
    ran = whole(info.pre_sus_time) or 0
    return max(int((paused_at - started_at).total_seconds()) - ran, 0)


_MODEL = re.compile(r"gres/gpu:([^:=,]*[^:=,\d][^:=,]*)[:=]\d+")


def _model_asked(info: JobInfo) -> str:
    """Return the model of GPU; a Slurm that does not account for models tells it only here."""
    found = _MODEL.search(f"{info.tres_per_node},{info.tres_per_task},{info.tres_per_job}")
    return found[1] if found else ""


def _outputs(info: JobInfo, array: int | None, task: int | None) -> tuple[str, str]:
    """Return where output goes: as Slurm has worked it out, else (before v0.0.43) as we do."""
    out, err = info.stdout_expanded, info.stderr_expanded
    if not out and info.standard_output:
        naming = Naming(
            job=info.job_id,
            array=array,
            task=task,
            user=info.user_name,
            name=info.name,
            nodes=info.nodes,
            work_dir=info.current_working_directory,
        )
        out, err = expand(info.standard_output, naming), expand(info.standard_error, naming)
    if array and task is None:
        out, err = tasks_to_come(out), tasks_to_come(err)
    return out, err or out


_BASE = {state.value: state for state in JobState if state is not JobState.LOST}
_ALONE = {
    "COMPLETING": JobState.RUNNING,
    "CONFIGURING": JobState.RUNNING,
    "RESIZING": JobState.RUNNING,
    "REVOKED": JobState.CANCELLED,
    "LAUNCH_FAILED": JobState.FAILED,
}


_MAY_RUN_AGAIN = frozenset({JobState.NODE_FAIL, JobState.PREEMPTED})


@lru_cache(maxsize=256)
def base_state(words: tuple[str, ...]) -> tuple[JobState, tuple[str, ...]]:
    """Split Slurm's list into the base state and its flags.

    A list without a base state is taken as still waiting: a job wrongly believed
    alive is looked at again, one wrongly believed ended is not.
    """
    for number, word in enumerate(words):
        if word in _BASE:
            state, flags = _BASE[word], words[:number] + words[number + 1 :]
            if state.ended and "REQUEUED" in flags:
                return JobState.PENDING, words
            # Slurm decides whether it runs again only when the old run has been cleared away.
            if state in _MAY_RUN_AGAIN and "COMPLETING" in flags:
                return JobState.RUNNING, words
            return state, flags
    for word in words:
        if word in _ALONE:
            return _ALONE[word], words
    return JobState.PENDING, words


_COUNT = re.compile(r"\d+")


@lru_cache(maxsize=4096)
def tres(text: str) -> Resources:
    """Read `cpu=2,mem=200M,node=1,gres/gpu=1`."""
    counts = dict(pair.split("=", 1) for pair in text.split(",") if "=" in pair)
    by_model = {
        kind.removeprefix("gres/gpu:"): _count(number)
        for kind, number in counts.items()
        if kind.startswith("gres/gpu:")
    }
    return Resources(
        cpus=_count(counts.get("cpu", "")),
        nodes=_count(counts.get("node", "")),
        memory_mib=_memory(counts.get("mem", "0")),
        gpus=_count(counts.get("gres/gpu", "")) or sum(by_model.values()),
        gpu_model=next(iter(by_model), ""),
    )


def _count(text: str) -> int:
    found = _COUNT.match(text)
    return int(found[0]) if found else 0


def _memory(text: str) -> int:
    try:
        return parse_memory_mib(text)
    except Invalid:
        return 0

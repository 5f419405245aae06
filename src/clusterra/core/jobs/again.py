"""The same job again, with more of what it ran out of.

A request that was kept is changed where slurmrestd reads it, in its properties. The
`#SBATCH` lines stand in the script as they stood, and nobody reads them: they were turned
into properties when the job was first submitted, and slurmrestd does not look at them.

What is said of a change is said here, so that a terminal, a message and an automation
use the same words for it.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from clusterra.core.jobs import comment
from clusterra.core.jobs.environment import RUN_ID
from clusterra.core.jobs.job import Job, JobState
from clusterra.core.jobs.pending.words import memory, minutes, per_node
from clusterra.core.jobs.request import JobRequest
from clusterra.core.units import LARGEST

MORE_MEMORY = 1.5
MORE_TIME = 2.0

_PER_GPU = re.compile(r"gres/gpu:(\d{1,10})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Adjustment:
    """How a request is to differ when it is submitted again; by itself, not at all."""

    memory_factor: float = 1.0
    time_factor: float = 1.0
    most_memory_mib: int | None = None
    """On one node. What was asked for is not made less by it."""

    most_time_minutes: int | None = None

    @property
    def as_is(self) -> bool:
        return self.memory_factor == 1.0 and self.time_factor == 1.0


AS_IS = Adjustment()

_BY_STATE = {
    JobState.OUT_OF_MEMORY: Adjustment(memory_factor=MORE_MEMORY),
    JobState.TIMEOUT: Adjustment(time_factor=MORE_TIME),
    JobState.DEADLINE: Adjustment(time_factor=MORE_TIME),
    # None of these was the job's own doing.
    JobState.NODE_FAIL: AS_IS,
    JobState.PREEMPTED: AS_IS,
    JobState.BOOT_FAIL: AS_IS,
    JobState.LOST: AS_IS,
}


def adjustment_for(state: JobState) -> Adjustment | None:
    """Return what may let a job that ended so succeed; None where running it again does not."""
    return _BY_STATE.get(state)


def adjusted(
    request: JobRequest, job: Job, adjustment: Adjustment
) -> tuple[JobRequest, tuple[str, ...]]:
    """Return the request as this job would be submitted again, and words for each change.

    There are fewer changes than were wished for where there is nothing to change: no time
    limit, an amount that is at its most, memory that neither the request nor Slurm names.
    """
    told = [
        *_more_memory(request.properties, job, adjustment),
        *_more_time(request.properties, job, adjustment),
        *_what_is_over(request.properties, job),
    ]
    properties = dict(request.properties)
    for change, _ in told:
        properties |= change
    if environment := properties.get("environment"):
        properties["environment"] = _follows(environment, properties)
    kept = {name: value for name, value in properties.items() if value is not None}
    return replace(request, properties=kept), tuple(words for _, words in told)


def again(request: JobRequest, *, run_id: str) -> JobRequest:
    """Return the same request as a new submission, which is known by another run id."""
    properties = dict(request.properties)
    mark = comment.read(properties.get("comment", ""))
    properties["comment"] = comment.stamp(replace(mark, run_id=run_id))
    if environment := properties.get("environment"):
        properties["environment"] = [*_unnamed(environment), f"{RUN_ID}={run_id}"]
    return replace(request, properties=properties)


def body_of(request: JobRequest) -> dict[str, Any]:
    """Return it as slurmrestd's own body, to be posted by whoever it belongs to.

    Without our mark: the submission that it becomes gets one of its own.
    """
    job = dict(request.properties)
    if note := comment.read(job.pop("comment", "")).note:
        job["comment"] = note
    if environment := job.get("environment"):
        job["environment"] = _unnamed(environment)
    return {"script": request.script, "job": job}


def number_of(value: Any) -> int | None:
    """Read a number in any of slurmrestd's shapes; None where none is set."""
    if isinstance(value, Mapping):
        if value.get("infinite") or not value.get("set", True):
            return None
        value = value.get("number")
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return int(value)
    return value if type(value) is int else None


def _unnamed(environment: list[str]) -> list[str]:
    return [line for line in environment if not line.startswith(f"{RUN_ID}=")]


def _set(number: int) -> dict[str, Any]:
    return {"set": True, "number": number}


_Told = Iterator[tuple[dict[str, Any], str]]
"""Properties to set, None to leave one out; and what to say of it."""


def _more_memory(asked: Mapping[str, Any], job: Job, adjustment: Adjustment) -> _Told:
    nodes = max(job.nodes_wanted, 1)
    on_node = number_of(asked.get("memory_per_node"))
    per_cpu = number_of(asked.get("memory_per_cpu"))
    per_gpu = _PER_GPU.fullmatch(str(asked.get("memory_per_tres", "")))
    if per_gpu:
        name, was, parts, each = "memory_per_tres", int(per_gpu[1]), job.gpus, " per GPU"
    elif per_cpu and not on_node:
        name, was, parts, each = "memory_per_cpu", per_cpu, job.cpus, " per CPU"
    else:
        # 0 asks for all that a node has, and nothing for what the partition gives: what came
        # of either is known from Slurm.
        was = on_node or per_node(job.memory_mib, nodes)
        name, parts, each = "memory_per_node", nodes, " per node" if nodes > 1 else ""
    most = adjustment.most_memory_mib
    if most is not None:
        most //= max(per_node(parts, nodes), 1)
    if more := _more(was, adjustment.memory_factor, most):
        value = f"gres/gpu:{more}" if per_gpu else _set(more)
        yield {name: value}, f"memory{each}: {memory(was)} → {memory(more)}"


def _more_time(asked: Mapping[str, Any], job: Job, adjustment: Adjustment) -> _Told:
    limit = asked.get("time_limit")
    if isinstance(limit, Mapping) and limit.get("infinite"):
        return
    was = number_of(limit) or job.time_limit_minutes
    if was and (more := _more(was, adjustment.time_factor, adjustment.most_time_minutes)):
        yield {"time_limit": _set(more)}, f"time limit: {minutes(was)} → {minutes(more)}"


def _what_is_over(asked: Mapping[str, Any], job: Job) -> _Told:
    """Leave out what Slurm would refuse because it is over, and tasks that this job is not."""
    if asked.get("deadline") and job.state is JobState.DEADLINE:
        yield {"deadline": None}, "deadline: left out, it has passed"
    if (dependency := asked.get("dependency")) and job.started_at is not None:
        yield {"dependency": None}, f"dependency: {dependency} left out, it was met"
    if (tasks := asked.get("array")) and job.array_task is not None:
        only = str(job.array_task)
        if tasks != only:
            yield {"array": only}, f"array: {tasks} → {only}"


def _more(was: int, factor: float, most: int | None) -> int | None:
    """Return so many times as much, as far as it may go; None if that is no more."""
    # 1000 × 1.1 is 1100.0000000000002 to a float, and 1101 to nobody.
    wanted = math.ceil(round(was * factor, 6))
    more = min(wanted, LARGEST if most is None else most)
    return more if more > was else None


def _follows(environment: list[str], properties: Mapping[str, Any]) -> list[str]:
    """Return the environment with what it repeats of the properties as it is now."""
    lines = []
    for line in environment:
        name = line.partition("=")[0]
        if name == "SLURM_MEM_PER_GPU" and (
            per_gpu := _PER_GPU.fullmatch(str(properties.get("memory_per_tres", "")))
        ):
            lines.append(f"{name}={per_gpu[1]}M")
        elif name != "SLURM_JOB_DEPENDENCY" or properties.get("dependency"):
            lines.append(line)
    return lines

"""A job that is only asked for, as Slurm would show it while it waits.

With it, whatever can be said of a waiting job can be said of one before it is submitted: the
planner is asked about it, and its start is guessed, by the code that does so for all others.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from clusterra.core.clusters import Partition
from clusterra.core.jobs.fit import gpus_in
from clusterra.core.jobs.job import Job, JobState
from clusterra.core.jobs.request import JobRequest

NOT_A_JOB = 0
"""The id of a job that Slurm does not have."""


def asked(request: JobRequest, partitions: Sequence[Partition], *, user: str, at: datetime) -> Job:
    """Return the job that this would be; what Slurm would add by itself is added where known."""
    wanted = request.properties
    least, most = _nodes(wanted)
    each = _number(wanted.get("tasks_per_node"))
    tasks = _number(wanted.get("tasks"))
    if each and tasks:
        least = max(least, -(-tasks // each))
    tasks = max(tasks or each * least, least)
    gpus, model = _gpus(wanted, nodes=least, tasks=tasks)
    cpus = max(
        tasks * max(_number(wanted.get("cpus_per_task")), 1),
        _number(wanted.get("minimum_cpus")),
        _number(wanted.get("minimum_cpus_per_node")) * least,
        _per_gpu(wanted.get("cpus_per_tres")) * gpus,
    )
    memory = max(
        _number(wanted.get("memory_per_node")) * least,
        _number(wanted.get("memory_per_cpu")) * cpus,
        _per_gpu(wanted.get("memory_per_tres")) * gpus,
    )
    job = Job(
        id=NOT_A_JOB,
        born_at=at,
        submitted_at=at,
        state=JobState.PENDING,
        name=str(wanted.get("name") or ""),
        user=user,
        cpus=cpus,
        nodes_wanted=least,
        nodes_most=most,
        memory_mib=memory,
        gpus=gpus,
        gpu_model=model,
        tasks=tasks,
        cpus_per_task=_number(wanted.get("cpus_per_task")),
        exclusive="none" in (wanted.get("shared") or ()),
        features=str(wanted.get("constraints") or ""),
        reservation=str(wanted.get("reservation") or ""),
        nodes_required=",".join(wanted.get("required_nodes") or ()),
        array_waiting=str(wanted.get("array") or ""),
    )
    return _in_partition(job, wanted, partitions)


def _in_partition(job: Job, wanted: Mapping[str, Any], partitions: Sequence[Partition]) -> Job:
    """Give it the partition that counts, and the longest time there unless it says another.

    Slurm takes a partition's own default before the longest: what is said of the cost is then
    too much, never too little.
    """
    names = str(wanted.get("partition") or "").split(",")
    found = [each for each in partitions if each.name in names] or [
        each for each in partitions if each.default
    ]
    minutes = found[0].max_minutes if found else None
    limit = wanted.get("time_limit")
    if isinstance(limit, Mapping) and limit.get("infinite"):
        minutes = None
    elif number := _number(limit):
        minutes = number
    name = names[0] or (found[0].name if found else "")
    return replace(job, partition=name, time_limit_minutes=minutes)


def _nodes(wanted: Mapping[str, Any]) -> tuple[int, int]:
    """Return the fewest and the most nodes; 0 is no limit."""
    found = re.fullmatch(r"(\d+)(?:-(\d+))?.*", str(wanted.get("nodes") or ""))
    if found is not None:
        return max(int(found[1]), 1), int(found[2] or found[1])
    least = max(_number(wanted.get("minimum_nodes")), 1)
    return least, _number(wanted.get("maximum_nodes"))


def _gpus(wanted: Mapping[str, Any], *, nodes: int, tasks: int) -> tuple[int, str]:
    """Return the GPUs over all nodes, and the model."""
    most, named = 0, ""
    for field, times in (
        ("tres_per_job", 1),
        ("tres_per_node", nodes),
        ("tres_per_socket", nodes),
        ("tres_per_task", tasks),
    ):
        some = list(gpus_in(wanted.get(field)))
        most = max(most, sum(number for _, number in some) * times)
        named = next((model.lower() for model, _ in some if model), named)
    return most, named


def _per_gpu(text: Any) -> int:
    return sum(number for _, number in gpus_in(text))


def _number(value: Any) -> int:
    if isinstance(value, Mapping):
        value = value.get("number")
    return value if isinstance(value, int) else 0

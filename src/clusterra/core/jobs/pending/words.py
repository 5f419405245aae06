"""Amounts as people read them, and jobs as far as somebody may know of them."""

from collections.abc import Iterable, Sequence

from clusterra.core import words
from clusterra.core.access import Caller, sees
from clusterra.core.jobs.job import Job
from clusterra.core.words import count, span

FEW = 3
"""So many things are named; of more, the rest is counted."""


def memory(mib: int) -> str:
    if mib < 1024:
        return f"{mib} MiB"
    gib = mib / 1024
    return f"{gib:,.0f} GiB" if gib >= 100 or gib == int(gib) else f"{gib:.1f} GiB"


def minutes(number: int) -> str:
    """Return a time limit: `45 min`, `2 h`, `1h 30m`."""
    if number < 60:
        return f"{number} min"
    return f"{number // 60} h" if number % 60 == 0 and number < 2880 else span(number * 60)


def listed(names: Iterable[str], *, most: int = FEW) -> str:
    """Return the first few; a sentence about one job has no room for more."""
    return words.listed(names, most=most)


def needs(job: Job) -> str:
    """Return what it asks for on each node: `4 CPUs and 60 GiB`, `2 nodes of 8 CPUs`."""
    nodes = max(job.nodes_wanted, 1)
    parts = [count(per_node(job.cpus, nodes), "CPU")]
    if job.memory_mib:
        parts.append(memory(per_node(job.memory_mib, nodes)))
    if job.gpus:
        model = f"{job.gpu_model} " if job.gpu_model else ""
        parts.append(count(per_node(job.gpus, nodes), f"{model}GPU"))
    said = " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
    return f"{nodes} nodes of {said}" if nodes > 1 else said


def per_node(total: int, nodes: int) -> int:
    return -(-total // max(nodes, 1))


def whose(jobs: Sequence[Job], caller: Caller) -> str:
    """Return `ana: 18 and 20; ben: 31`; of those whom the caller may not know, how many."""
    known: dict[str, list[str]] = {}
    hidden = 0
    for job in jobs:
        if sees(caller, job.user):
            known.setdefault(job.user, []).append(job.label)
        else:
            hidden += 1
    parts = [f"{user}: {listed(labels)}" for user, labels in known.items()][:FEW]
    left = sum(len(labels) for labels in list(known.values())[FEW:])
    if left:
        parts.append(f"{count(left, 'job')} of {len(known) - FEW} more people")
    if hidden:
        parts.append(f"{count(hidden, 'job')} of others")
    return "; ".join(parts)


def called(job: Job, caller: Caller) -> str:
    """Return `job 41 (ana)`, or only that it is somebody else's."""
    return f"job {job.label} ({job.user})" if sees(caller, job.user) else "somebody else's job"


def handle(job: Job) -> str:
    """Return the id to type for it."""
    return job.label if job.array_task is not None else str(job.array_id or job.id)

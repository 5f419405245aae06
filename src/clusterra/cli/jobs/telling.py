"""A job in words: what it asked for, why it waits, how it ended."""

from datetime import datetime, timedelta
from pathlib import PurePosixPath

from clusterra.cli.amounts import duration, limit, memory, memory_brief
from clusterra.cli.screen import tame
from clusterra.cli.table import Cell
from clusterra.cli.words import LIVE, reason_words, state_words
from clusterra.core.cost.so_far import CostSoFar
from clusterra.core.money import dollars
from clusterra.core.words import count
from clusterra.wire.jobs import JobView

SIGNALS = {
    1: "HUP",
    2: "INT",
    3: "QUIT",
    6: "ABRT",
    9: "KILL",
    11: "SEGV",
    13: "PIPE",
    15: "TERM",
}


def handle(job: JobView) -> str:
    """Return the id to type for it. (`43_[6-9]` is a pattern to a shell.)"""
    return job.label if job.array_task is not None else str(job.array_id or job.job_id)


def asked_brief(job: JobView) -> str:
    """Return `8c 32G 1g`, with `2n` first when it wants several nodes."""
    parts = (
        f"{job.nodes_wanted}n" if job.nodes_wanted > 1 else "",
        f"{job.cpus}c" if job.cpus else "",
        memory_brief(job.memory_mib) if job.memory_mib else "",
        f"{job.gpus}g" if job.gpus else "",
    )
    return " ".join(part for part in parts if part)


def asked(job: JobView) -> str:
    parts = (
        count(job.nodes_wanted, "node") if job.nodes_wanted > 1 else "",
        count(job.cpus, "CPU") if job.cpus else "",
        memory(job.memory_mib) if job.memory_mib else "",
        count(job.gpus, "GPU") if job.gpus else "",
        limit(job.time_limit_minutes),
    )
    return " · ".join(part for part in parts if part)


def waited(job: JobView, now: datetime) -> timedelta:
    until = job.started_at or job.ended_at or now
    return until - job.submitted_at


def ran(job: JobView, now: datetime) -> timedelta | None:
    if job.started_at is None or job.state == "PENDING":
        return None
    return (job.ended_at or now) - job.started_at


def ending(job: JobView) -> str:
    """Return how it ended: `completed in 31 s`, `failed with exit code 7 after 2m 04s`."""
    took = ran(job, job.ended_at) if job.ended_at else None
    if job.state == "COMPLETED":
        return f"completed in {duration(took)}" if took is not None else "completed"
    how = {
        "CANCELLED": "cancelled",
        "TIMEOUT": f"reached its time limit of {limit(job.time_limit_minutes)}",
        "OUT_OF_MEMORY": "out of memory",
        "NODE_FAIL": "lost with its node",
        "PREEMPTED": "preempted by a more important job",
        "BOOT_FAIL": "failed because its node did not start",
        "DEADLINE": "ended by its deadline",
        "LOST": "lost: Slurm knows it no more",
        "FAILED": f"failed{failure(job)}",
    }.get(job.state, str(state_words(job.state).short))
    if job.state in {"TIMEOUT", "LOST"}:
        return how
    if job.started_at is None:
        return f"{how} before it started"
    return f"{how} after {duration(took)}" if took is not None else how


def failure(job: JobView) -> str:
    if job.signal:
        name = SIGNALS.get(job.signal)
        return f" with signal {job.signal}" + (f" ({name})" if name else "")
    return f" with exit code {job.exit_code}" if job.exit_code else ""


def remark(job: JobView, now: datetime) -> str:
    """Return the one thing worth saying about it beside its state."""
    if job.state == "PENDING":
        why = tame(job.waits_for) or reason_words(job.reason)
        return " · ".join(part for part in (why, expected(job, now)) if part)
    if job.state == "RUNNING":
        return f"on {job.nodes}" if job.nodes else ""
    if job.state == "FAILED":
        return failure(job).removeprefix(" with ") or reason_words(job.reason)
    if job.state == "NODE_FAIL":
        return f"on {job.nodes}" if job.nodes else ""
    return ""


def expected(job: JobView, now: datetime) -> str:
    """Return Slurm's guess at the start, if it has one that has not passed."""
    if job.expected_at is None or job.expected_at <= now:
        return ""
    return f"Slurm expects it to start in {duration(job.expected_at - now)}"


def cost_cell(job: JobView) -> Cell:
    """Return what it has cost, for a table."""
    if job.cost_micros is None or (job.state == "PENDING" and not job.cost_micros):
        return Cell("?" if job.cost_unknown else "–", faint=True)
    return Cell(dollars(job.cost_micros))


def cost_words(job: JobView) -> str:
    """Return `$0.19 so far, $0.38/h, at most $0.76`; empty if there is nothing to say."""
    if job.cost_micros is None and not job.cost_unknown:
        return ""
    if job.state == "PENDING" and not job.cost_micros and not job.cost_unknown:
        return ""
    return CostSoFar(
        micros=job.cost_micros,
        usd_per_hour=job.usd_per_hour_micros,
        estimated=job.estimated_micros,
        why_unknown=job.cost_unknown,
        final=job.cost_final,
    ).words


def own_code(job: JobView) -> int:
    """Return what a command that waited for this job exits with."""
    if job.state == "COMPLETED":
        return 0
    if job.signal:
        return 128 + job.signal
    return job.exit_code or 1


def has_ended(job: JobView) -> bool:
    return job.state not in LIVE


def output_name(job: JobView) -> str:
    """Return the output file as its owner would name it: relative to where the job ran."""
    path = PurePosixPath(job.stdout)
    inside = bool(job.work_dir) and path.is_relative_to(job.work_dir)
    return str(path.relative_to(job.work_dir)) if inside else str(path)

"""What happened to a job, as people tell each other: what, why, where, when, and what it cost.

Words that need no cost and no clock are the terminal's own (`core/events/tell`).
"""

from collections.abc import Callable, Mapping
from datetime import tzinfo
from typing import Any

from clusterra.core.events.tell import asked, ending, person, tell
from clusterra.core.hosts import expand
from clusterra.core.money import dollars, per_hour
from clusterra.core.webhooks.telling import JobContext, Telling
from clusterra.core.webhooks.when import clock, read_moment
from clusterra.core.words import count, listed, span

FEW = 3
"""So many workers are named; of more, there is the number."""

Words = tuple[str, str]
"""What the job did, and the rest of the sentence: `failed`, `: out of memory on w1.`"""

UNSUCCESSFUL = frozenset(
    {"job.failed", "job.out_of_memory", "job.timeout", "job.node_fail", "job.preempted"}
    | {"job.cancelled", "job.lost"}
)


def lead(data: Mapping[str, Any], *, named: bool = False) -> str:
    """Return `Job 41`, or `Job 41 (align)`."""
    name = data.get("name") if named else ""
    return f"Job {data.get('label') or data.get('job_id') or '?'}" + (f" ({name})" if name else "")


def whose(data: Mapping[str, Any]) -> str:
    """Return `ana's align`."""
    user, name = data.get("user") or "", data.get("name") or ""
    return f"{user}'s {name or 'job'}" if user else name


def job_words(telling: Telling, zone: tzinfo) -> Words:
    how = _HOW.get(telling.type)
    return how(telling, zone) if how else _as_told(telling)


def nodes_of(telling: Telling) -> tuple[str, ...]:
    if telling.job and telling.job.nodes:
        return telling.job.nodes
    return tuple(sorted(expand(telling.data.get("nodes") or ""), key=_by_number))


def ran_seconds(telling: Telling) -> int | None:
    ran: int | None = telling.data.get("ran_seconds")
    return ran if ran is not None or telling.job is None else telling.job.ran_seconds


def cost(job: JobContext | None) -> str:
    """Return `$0.19`, and what is to be said of it; nothing if it is not known."""
    if job is None or job.cost_micros is None:
        return ""
    return dollars(job.cost_micros) + (" (estimate)" if job.estimate else "")


def rate(job: JobContext | None) -> str:
    if job is None or job.usd_per_hour_micros is None:
        return ""
    return ("est. " if job.estimate else "") + per_hour(job.usd_per_hour_micros)


def _by_number(name: str) -> tuple[str, int, str]:
    digits = len(name) - len(name.rstrip("0123456789"))
    return name[: len(name) - digits], int(name[-digits:][:18]) if digits else 0, name


def _as_told(telling: Telling) -> Words:
    by = person(*_parted(telling.actor))
    told = tell(telling.type, telling.data, by=by)
    return "", f": {told}" if by and told.startswith(by) else f" {told}"


def _parted(actor: str) -> tuple[str, str]:
    kind, _, who = actor.partition(":")
    return kind, who


def _sentences(*sentences: str) -> str:
    return " ".join(each if each[-1] in ".!?…" else f"{each}." for each in sentences if each)


# --- how jobs begin


def _begun(verb: str, telling: Telling, *more: str) -> Words:
    data = telling.data
    where = f" on {data['partition']}" if data.get("partition") else ""
    parts = [whose(data) + where, *more]
    told = ", ".join(part for part in parts if part.strip())
    return verb, f": {told.strip()}" if told else ""


def _submitted(telling: Telling, _: tzinfo) -> Words:
    return _begun("submitted", telling, asked(telling.data))


def _started(telling: Telling, _: tzinfo) -> Words:
    nodes = len(nodes_of(telling))
    return _begun("started", telling, count(nodes, "node") if nodes else "", rate(telling.job))


# --- how they end


def _where(telling: Telling) -> str:
    nodes = nodes_of(telling)
    if not nodes:
        return ""
    return f" on {listed(nodes) if len(nodes) <= FEW else count(len(nodes), 'node')}"


def _when(telling: Telling, zone: tzinfo) -> str:
    ran = ran_seconds(telling)
    after = " before it started" if ran is None else f" after {span(ran)}"
    return f" at {clock(telling.at, zone)}{after}"


def _and_more(telling: Telling) -> tuple[str, ...]:
    """What it cost, why it came so, what to do."""
    job = telling.job
    if job is None:
        return ()
    costs = cost(job)
    label = "Cost" if job.is_final else "Cost so far"
    return (f"{label}: {costs}" if costs else "", job.cause, job.advice)


def _completed(telling: Telling, _: tzinfo) -> Words:
    ran, costs = ran_seconds(telling), cost(telling.job)
    label = "Final cost" if telling.job and telling.job.is_final else "Cost so far"
    after = "" if ran is None else f" after {span(ran)}"
    return "completed", f"{after}." + (f" {label}: {costs}." if costs else "")


def _ended(
    verb: str, cause: Callable[[Telling], str] = lambda _: ""
) -> Callable[[Telling, tzinfo], Words]:
    def words(telling: Telling, zone: tzinfo) -> Words:
        because = cause(telling)
        told = f"{because}{_where(telling)}{_when(telling, zone)}"
        return verb, _sentences(f": {told}" if because else told, *_and_more(telling))

    return words


def _failure(telling: Telling) -> str:
    # A cause that was looked into says more than Slurm's code for it.
    reason = telling.data.get("reason") or ""
    code = reason if reason not in ("None", "NonZeroExitCode") else ""
    return ending(telling.data) or code.replace("_", " ") or "unknown cause"


def _cancelled(telling: Telling, zone: tzinfo) -> Words:
    by = person(*_parted(telling.actor))
    told = f" by {by}" if by else ""
    told += f"{_where(telling)}{_when(telling, zone)}{_why(telling)}"
    return "was cancelled", _sentences(told, *_and_more(telling))


def _node_fail(telling: Telling, zone: tzinfo) -> Words:
    nodes = nodes_of(telling)
    which = f"worker {nodes[0]} lost" if len(nodes) == 1 else "a worker was lost"
    of = f", one of {len(nodes)}," if len(nodes) > 1 else ""
    return "failed", _sentences(f": {which}{of}{_when(telling, zone)}", *_and_more(telling))


def _lost(telling: Telling, zone: tzinfo) -> Words:
    told = f": Slurm knows it no more, since {clock(telling.at, zone)}"
    return "was lost", _sentences(told, *_and_more(telling))


def _over_quota(telling: Telling, zone: tzinfo) -> Words:
    at = read_moment(telling.data.get("cancels_at"))
    told = f" at {clock(at, zone)}" if at else " soon"
    return "will be cancelled", _sentences(told + _why(telling), *_and_more(telling))


def _why(telling: Telling) -> str:
    return f": {telling.data['why']}" if telling.data.get("why") else ""


_HOW: Mapping[str, Callable[[Telling, tzinfo], Words]] = {
    "job.submitted": _submitted,
    "job.started": _started,
    "job.completed": _completed,
    "job.failed": _ended("failed", _failure),
    "job.out_of_memory": _ended("failed", lambda _: "out of memory"),
    "job.timeout": _ended("timed out"),
    "job.node_fail": _node_fail,
    "job.preempted": _ended("was preempted"),
    "job.cancelled": _cancelled,
    "job.lost": _lost,
    "job.cost.over_quota": _over_quota,
}

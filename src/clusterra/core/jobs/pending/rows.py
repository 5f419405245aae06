"""The rows that claims rest on, as evidence."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from clusterra.core.access import sees
from clusterra.core.clusters import Node
from clusterra.core.jobs.job import Job
from clusterra.core.jobs.pending.facts import Facts, Row
from clusterra.core.jobs.pending.why import Evidence, Scalar, Source
from clusterra.core.limits import Licence, Limit, PartitionRules, Reservation
from clusterra.core.scaling.planned import Planned
from clusterra.core.seen import Seen

MOST = 5
"""Rows of one sort behind one claim; the claim itself counts them all."""


def of_job(job: Job, facts: Facts, **says: Scalar) -> Evidence:
    told: dict[str, Scalar] = {"state": job.state.value, "reason": job.reason or None}
    if job.reason_said and job.reason_said != job.reason:
        told["said"] = job.reason_said
    return Evidence(kind=Source.JOB, id=job.label, at=facts.seen_at, says={**told, **says})


def of_other(job: Job, facts: Facts) -> Evidence:
    """Return what may be told of any job that the caller knows of."""
    says: dict[str, Scalar] = {
        "user": job.user,
        "state": job.state.value,
        "cpus": job.cpus,
        "memory_mib": job.memory_mib,
        "priority": job.priority,
        "started_at": job.started_at.isoformat() if job.started_at else None,
        "time_limit_minutes": job.time_limit_minutes,
    }
    return Evidence(kind=Source.JOB, id=job.label, at=facts.seen_at, says=says)


def of_others(jobs: Iterable[Job], facts: Facts) -> tuple[Evidence, ...]:
    known = [job for job in jobs if sees(facts.caller, job.user)]
    return tuple(of_other(job, facts) for job in known[:MOST])


def of_node(node: Node, at: datetime | None) -> Evidence:
    return Evidence(
        kind=Source.NODE,
        id=node.name,
        at=at,
        says={
            "state": "+".join((node.state, *node.flags)),
            "reason": node.reason or None,
            "cpus": node.cpus,
            "cpus_used": node.cpus_used,
            "memory_mib": node.memory_mib,
            "memory_used_mib": node.memory_used_mib,
            "gpus": node.gpus,
            "gpus_used": node.gpus_used,
        },
    )


def of_nodes(nodes: Sequence[Node], facts: Facts) -> tuple[Evidence, ...]:
    at = facts.nodes.at if isinstance(facts.nodes, Seen) else None
    return tuple(of_node(node, at) for node in nodes[:MOST])


def of_rules(rules: PartitionRules, facts: Facts) -> Evidence:
    at = facts.rules.at if isinstance(facts.rules, Seen) else None
    return Evidence(
        kind=Source.PARTITION,
        id=rules.name,
        at=at,
        says={
            "state": rules.state,
            "max_minutes": rules.max_minutes,
            "max_nodes": rules.max_nodes,
            "min_nodes": rules.min_nodes,
            "accounts": ",".join(rules.accounts) or None,
            "qos": rules.qos or None,
        },
    )


def of_line(job: Job, facts: Facts) -> Evidence:
    """Return the queue of its partition, as far as numbers go."""
    return Evidence(
        kind=Source.PARTITION,
        id=job.partition,
        at=facts.seen_at,
        says={
            "ahead": facts.line.ahead,
            "waiting": facts.line.waiting,
            "priority": job.priority,
        },
    )


def of_limit(limit: Limit, facts: Facts, *, used: int | None) -> Evidence:
    rule = limit.rule
    at = facts.limits.at if isinstance(facts.limits, Seen) else None
    name = "/".join(part for part in (rule.holder.value, limit.of, limit.user) if part)
    return Evidence(
        kind=Source.LIMIT,
        id=name,
        at=at,
        says={
            "per": rule.per.value,
            "measure": rule.measure.value,
            "resource": rule.resource or None,
            "limit": limit.amount,
            "used": used,
        },
    )


def of_reservation(found: Reservation, facts: Facts) -> Evidence:
    at = facts.reservations.at if isinstance(facts.reservations, Seen) else None
    return Evidence(
        kind=Source.RESERVATION,
        id=found.name,
        at=at,
        says={
            "starts_at": found.starts_at.isoformat() if found.starts_at else None,
            "ends_at": found.ends_at.isoformat() if found.ends_at else None,
            "nodes": found.nodes,
            "users": ",".join(found.users) or None,
            "accounts": ",".join(found.accounts) or None,
        },
    )


def of_licence(found: Licence, facts: Facts) -> Evidence:
    at = facts.licences.at if isinstance(facts.licences, Seen) else None
    return Evidence(
        kind=Source.LICENCE,
        id=found.name,
        at=at,
        says={"total": found.total, "used": found.used, "free": found.free},
    )


def of_plan(planned: Planned, facts: Facts, **says: Scalar) -> Evidence:
    at = facts.planned.at if isinstance(facts.planned, Seen) else None
    return Evidence(kind=Source.PLAN, id=str(planned.fleet.version), at=at, says=says)


def of_event(row: Row, **says: Scalar) -> Evidence:
    told: dict[str, Scalar] = {"seq": row.seq, "type": row.type, "actor": row.actor}
    return Evidence(kind=Source.EVENT, id=row.id, at=row.at, says={**told, **says})


def newest(rows: Iterable[Row], *types: str, **data: object) -> Row | None:
    """Return the last of these events whose data says so."""
    found = None
    for row in rows:
        if row.type in types and all(row.data.get(key) == value for key, value in data.items()):
            found = row
    return found

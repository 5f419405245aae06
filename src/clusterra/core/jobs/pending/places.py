"""Why a job waits for nodes: features, sizes, what is down, what is reserved, what is in use."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from difflib import get_close_matches

from clusterra.core.clusters import Node
from clusterra.core.events.nodes import Use, use
from clusterra.core.hosts import expand
from clusterra.core.jobs.job import Job, JobState
from clusterra.core.jobs.pending import rows
from clusterra.core.jobs.pending.facts import Facts
from clusterra.core.jobs.pending.why import Answer, Evidence, Kind, Link, Sooner
from clusterra.core.jobs.pending.words import listed, memory, minutes, needs, per_node, whose
from clusterra.core.limits import Reservation
from clusterra.core.seen import Seen
from clusterra.core.words import count, span

_FEATURE = re.compile(r"[A-Za-z_][\w.:/-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What it asks for on each of its nodes."""

    cpus: int
    memory_mib: int
    gpus: int


def need(job: Job) -> Need:
    nodes = max(job.nodes_wanted, 1)
    return Need(
        cpus=per_node(job.cpus, nodes),
        memory_mib=per_node(job.memory_mib, nodes),
        gpus=per_node(job.gpus, nodes),
    )


def for_nodes(job: Job, facts: Facts, code: str) -> Answer:
    """Return what about the nodes keeps it waiting, the most telling thing first."""
    if unknown := unknown_feature(job, facts):
        return unknown
    if not isinstance(facts.nodes, Seen):
        return Answer(
            kind=Kind.CAPACITY,
            summary=f"It waits for nodes with {needs(job)}{_code(code)}; "
            "the nodes cannot be seen at present.",
            links=(_asks(job, facts, Kind.CAPACITY),),
            in_line=True,
        )
    of_partition = [node for node in facts.nodes.value if _serves(node, job)]
    able = [node for node in of_partition if _holds(node, need(job)) and _featured(node, job)]
    if gone := required_gone(job, facts):
        return gone
    if len(able) < max(job.nodes_wanted, 1):
        return _too_few(job, facts, of_partition, able)
    usable = [node for node in able if use(node) is Use.ACTIVE]
    if len(usable) < max(job.nodes_wanted, 1):
        return _not_available(job, facts, able, usable)
    if reserved := _reserved(job, facts, usable):
        return reserved
    return _in_use(job, facts, usable, code)


def unknown_feature(job: Job, facts: Facts) -> Answer | None:
    """Return which feature it asks for that no node has, and none that could be started."""
    if not job.features or not isinstance(facts.nodes, Seen):
        return None
    known = {feature for node in facts.nodes.value for feature in node.features}
    if isinstance(facts.planned, Seen):
        for shape in facts.planned.value.shapes.values():
            known |= shape.features
    missing = [word for word in _FEATURE.findall(job.features) if word not in known]
    if not missing or (len(missing) < len(_FEATURE.findall(job.features)) and "|" in job.features):
        return None
    near = list(
        dict.fromkeys(n for word in missing for n in get_close_matches(word, sorted(known)))
    )
    mean = f"; did you mean {' or '.join(near)}?" if near else "."
    have = listed(sorted(known), most=8) or "none"
    return Answer(
        kind=Kind.FEATURE,
        summary=f"No node has the feature {listed(missing)} that it asks for{mean}",
        links=(
            Link(
                kind=Kind.FEATURE,
                claim=f"It asks for {job.features}; the features there are: {have}",
                evidence=(
                    rows.of_job(job, facts, features=job.features),
                    *rows.of_nodes(facts.nodes.value, facts),
                ),
            ),
        ),
        sooner=(
            Sooner(
                say=f"submit it again with the constraint {near[0]}"
                if near
                else "submit it again without that constraint"
            ),
        ),
        hopeless=True,
    )


def _serves(node: Node, job: Job) -> bool:
    if node.name in expand(job.nodes_excluded):
        return False
    return not job.partition or any(each in node.partitions for each in job.partition.split(","))


def _holds(node: Node, asked: Need) -> bool:
    return (
        node.cpus >= asked.cpus and node.memory_mib >= asked.memory_mib and node.gpus >= asked.gpus
    )


def _featured(node: Node, job: Job) -> bool:
    """Say whether a node has what the constraint wants, where that is a plain list."""
    if not job.features or not re.fullmatch(r"[\w.:/-]+(?:[&,|][\w.:/-]+)*", job.features):
        return True
    words = _FEATURE.findall(job.features)
    has = [word in node.features for word in words]
    return any(has) if "|" in job.features else all(has)


def _asks(job: Job, facts: Facts, kind: Kind) -> Link:
    return Link(kind=kind, claim=f"It asks for {needs(job)}", evidence=(rows.of_job(job, facts),))


def required_gone(job: Job, facts: Facts) -> Answer | None:
    """Return which nodes it insists on cannot be used."""
    if not job.nodes_required or not isinstance(facts.nodes, Seen):
        return None
    nodes = facts.nodes.value
    wanted = expand(job.nodes_required)
    known = {node.name: node for node in nodes}
    missing = sorted(name for name in wanted if name not in known)
    unfit = [node for node in nodes if node.name in wanted and use(node) is not Use.ACTIVE]
    if not missing and not unfit:
        return None
    said = [*(f"{name} is not there" for name in missing[:3]), *map(_state, unfit[:3])]
    return Answer(
        kind=Kind.NODE,
        summary=f"It insists on {job.nodes_required}, and {listed(said)}.",
        links=(
            Link(
                kind=Kind.NODE,
                claim=f"Nodes it insists on that cannot be used: {listed(said)}",
                evidence=(
                    rows.of_job(job, facts, nodes_required=job.nodes_required),
                    *rows.of_nodes(unfit, facts),
                ),
            ),
        ),
        sooner=(Sooner(say="submit it again without naming nodes"), *_bring_back(unfit)),
        hopeless=bool(missing),
    )


def _too_few(job: Job, facts: Facts, nodes: Sequence[Node], able: Sequence[Node]) -> Answer:
    where = f"partition {job.partition}" if job.partition else "this cluster"
    largest = max(nodes, key=lambda node: (node.cpus, node.memory_mib), default=None)
    wanted = max(job.nodes_wanted, 1)
    if able:
        summary = f"It asks for {needs(job)}, and {where} has only {count(len(able), 'such node')}"
    elif largest is None:
        summary = f"It asks for {needs(job)}, and {where} has no nodes at present"
    else:
        summary = f"It asks for {needs(job)} on a node, and no node of {where} has that"
    sooner: list[Sooner] = []
    if able:
        sooner.append(Sooner(say=f"ask for at most {count(len(able), 'node')} instead of {wanted}"))
    elif largest is not None:
        has = f"{count(largest.cpus, 'CPU')} and {memory(largest.memory_mib)}"
        if job.gpus:
            most = max((node.gpus for node in nodes), default=0)
            has += f", at most {count(most, 'GPU')}"
        summary += f"; the largest, {largest.name}, has {has}"
        sooner.append(Sooner(say=f"ask for at most {has} on each node"))
    return Answer(
        kind=Kind.NEVER if largest is not None else Kind.NODE,
        summary=f"{summary}.",
        links=(
            _asks(job, facts, Kind.NEVER),
            Link(
                kind=Kind.NEVER,
                claim=f"{count(len(nodes), 'node')} in {where}, {len(able)} of them large enough",
                evidence=rows.of_nodes(sorted(nodes, key=lambda node: -node.cpus), facts)
                or (rows.of_line(job, facts),),
            ),
        ),
        sooner=tuple(sooner),
        hopeless=True,
    )


def _not_available(job: Job, facts: Facts, able: Sequence[Node], usable: Sequence[Node]) -> Answer:
    unfit = [node for node in able if node not in usable]
    said = listed(map(_state, unfit))
    return Answer(
        kind=Kind.NODE,
        summary=f"Nodes that could hold it cannot be used: {said}.",
        links=(
            _asks(job, facts, Kind.NODE),
            Link(
                kind=Kind.NODE,
                claim=f"{len(usable)} of {count(len(able), 'node')} that could hold it can be used; {said}",
                evidence=(*rows.of_nodes(unfit, facts), *_told(unfit, facts)),
            ),
        ),
        sooner=_bring_back(unfit),
        hopeless=True,
    )


def _told(nodes: Iterable[Node], facts: Facts) -> tuple[Evidence, ...]:
    """Return the ledger's rows of when they went."""
    found = (
        rows.newest(facts.fleet_rows, "node.down", "node.drained", node=node.name) for node in nodes
    )
    return tuple(rows.of_event(row, reason=row.data.get("reason")) for row in found if row)[
        : rows.MOST
    ]


def _state(node: Node) -> str:
    words = {Use.DOWN: "is down", Use.DRAINED: "is drained"}.get(use(node), "is up")
    return f"{node.name} {words}{f' ({node.reason})' if node.reason else ''}"


def _bring_back(nodes: Sequence[Node]) -> tuple[Sooner, ...]:
    if not nodes:
        return ()
    names = listed(node.name for node in nodes)
    return (
        Sooner(
            say=f"have an admin bring back {names}",
            command=f"scontrol update nodename={nodes[0].name} state=resume",
        ),
    )


def _reserved(job: Job, facts: Facts, usable: Sequence[Node]) -> Answer | None:
    """Return the reservation that it would run into, if that is what is left over."""
    if not isinstance(facts.reservations, Seen):
        return None
    ends = facts.now + timedelta(minutes=job.time_limit_minutes or 10**7)
    met: dict[str, Reservation] = {}
    for each in facts.reservations.value:
        if (each.starts_at or facts.now) < ends and not (
            job.reservation == each.name and each.is_for(job.user, job.account)
        ):
            for name in expand(each.nodes):
                met.setdefault(name, each)
    open_to_it = [node for node in usable if node.name not in met]
    if len(open_to_it) >= max(job.nodes_wanted, 1):
        return None
    blocking = next(met[node.name] for node in usable if node.name in met)
    return kept_for_others(job, facts, blocking)


def kept_for_others(job: Job, facts: Facts, by: Reservation) -> Answer:
    now, starts = facts.now, by.starts_at or facts.now
    who = listed([*by.users, *by.accounts]) or "nobody"
    when = f"in {span(starts - now)}" if starts > now else "now"
    until = f", until in {span(by.ends_at - now)}" if by.ends_at and by.ends_at > now else ""
    sooner: list[Sooner] = []
    room = int((starts - now).total_seconds()) // 60 - 1
    if room > 0 and (job.time_limit_minutes is None or job.time_limit_minutes > room):
        sooner.append(
            Sooner(
                say=f"ask for at most {minutes(room)}: it then ends before the reservation begins",
                command=f"clusterra jobs edit {job.array_id or job.id} --time {room}",
            )
        )
    if by.is_for(job.user, job.account) and job.reservation != by.name:
        sooner.append(
            Sooner(say=f"submit it with the reservation {by.name}, which is yours to use")
        )
    limit = (
        "no time limit"
        if job.time_limit_minutes is None
        else f"a limit of {minutes(job.time_limit_minutes)}"
    )
    return Answer(
        kind=Kind.RESERVATION,
        summary=f"{by.nodes} is reserved {when} ({by.name}, for {who}), "
        f"and with {limit} it would run into that.",
        links=(
            Link(
                kind=Kind.RESERVATION,
                claim=f"Reservation {by.name} keeps {by.nodes} for {who} {when}{until}",
                evidence=(
                    rows.of_reservation(by, facts),
                    rows.of_job(job, facts, time_limit_minutes=job.time_limit_minutes),
                ),
            ),
        ),
        sooner=tuple(sooner),
        not_before=by.ends_at,
    )


def _in_use(job: Job, facts: Facts, usable: Sequence[Node], code: str) -> Answer:
    asked, wanted = need(job), max(job.nodes_wanted, 1)
    running = [
        each
        for each in facts.live
        if each.state is not JobState.PENDING
        and not expand(each.nodes).isdisjoint(node.name for node in usable)
    ]
    users = whose(running, facts.caller)
    roomy = [node for node in usable if _fits_now(node, asked, job)]
    able = f"the {count(len(usable), 'node')} that could hold it"
    if len(roomy) >= wanted and facts.line.ahead == 0:
        summary = "There is room for it; Slurm starts it when it comes round to it"
        kind = Kind.SCHEDULER
    else:
        verb = "is" if len(usable) == 1 else "are"
        summary = f"It asks for {needs(job)}; {able} {verb} in use"
        kind = Kind.CAPACITY
    free = max(usable, key=lambda node: (node.cpus - node.cpus_used, node.name))
    left = max(free.cpus - free.cpus_used, 0)
    return Answer(
        kind=kind,
        summary=f"{summary}{_code(code)}.",
        links=(
            Link(
                kind=kind,
                claim=f"{len(roomy)} of {count(len(usable), 'node')} that could hold it have room; "
                f"{free.name} has {left} of {count(free.cpus, 'CPU')} free",
                evidence=(rows.of_job(job, facts), *rows.of_nodes(usable, facts)),
            ),
            *_users(running, users, facts, kind),
        ),
        sooner=_less(asked, wanted, free, job),
        in_line=True,
    )


def _users(running: Sequence[Job], users: str, facts: Facts, kind: Kind) -> tuple[Link, ...]:
    if not running:
        return ()
    evidence = rows.of_others(running, facts)
    at = facts.nodes.value if isinstance(facts.nodes, Seen) else ()
    claim = f"{count(len(running), 'job')} there: {users}"
    return (Link(kind=kind, claim=claim, evidence=evidence or rows.of_nodes(at, facts)),)


def _fits_now(node: Node, asked: Need, job: Job) -> bool:
    if job.exclusive and node.cpus_used:
        return False
    return (
        node.cpus - node.cpus_used >= asked.cpus
        and node.memory_mib - node.memory_used_mib >= asked.memory_mib
        and node.gpus - node.gpus_used >= asked.gpus
    )


def _less(asked: Need, wanted: int, free: Node, job: Job) -> tuple[Sooner, ...]:
    if wanted > 1:
        return ()
    cpus = free.cpus - free.cpus_used
    mib = free.memory_mib - free.memory_used_mib
    if job.exclusive and 0 < asked.cpus <= cpus:
        return (Sooner(say=f"do not ask for a whole node: {free.name} has room for it now"),)
    less = []
    if 0 < cpus < asked.cpus:
        less.append(f"{count(cpus, 'CPU')} instead of {asked.cpus}")
    if 0 < mib < asked.memory_mib and cpus > 0:
        less.append(f"{memory(mib)} instead of {memory(asked.memory_mib)}")
    if not less or cpus <= 0 or mib <= 0:
        return ()
    return (Sooner(say=f"ask for {' and '.join(less)}: {free.name} has that free now"),)


def _code(code: str) -> str:
    return f" ({code})" if code else ""

"""Why a job waits, as far as the fleet is concerned: what the planner said when it decided."""

from datetime import datetime, timedelta

from clusterra.core.jobs.forecast import quantile
from clusterra.core.jobs.job import Job, JobState
from clusterra.core.jobs.pending import rows
from clusterra.core.jobs.pending.facts import Facts
from clusterra.core.jobs.pending.why import Answer, Evidence, Kind, Link, Sooner
from clusterra.core.jobs.pending.words import handle, memory, needs, per_node, whose
from clusterra.core.scaling.fleet import Phase
from clusterra.core.scaling.plan import Cause, Wait
from clusterra.core.scaling.planned import Planned
from clusterra.core.seen import Seen
from clusterra.core.words import count, span

LATE = 3
"""Times as long as usual: from then on a worker is called late."""

LATE_AT_LEAST = timedelta(seconds=60)


def by_the_plan(job: Job, facts: Facts) -> Answer | None:
    """Return what the last plan says of this job; None if it says nothing."""
    if not isinstance(facts.planned, Seen):
        return None
    planned = facts.planned.value
    wait = planned.plan.waits.get(job.id)
    if wait is None:
        return None
    match wait.cause:
        case Cause.WARMING:
            return _warming(job, facts, planned, wait)
        case Cause.ROOM:
            return _room(job, facts, planned, wait)
        case Cause.NEVER:
            return _never(job, facts, planned, wait)
        case Cause.MAX_WORKERS:
            return _max_workers(job, facts, planned, wait)
        case Cause.MAX_SPEND:
            return _max_spend(job, facts, planned, wait)
        case Cause.SHORTAGE:
            return _shortage(job, facts, planned, wait)


def awaited(wait: Wait, planned: Planned) -> tuple[datetime, ...]:
    """Return when the workers it waits for were asked for."""
    warming = sorted(
        worker.since
        for worker in planned.workers
        if worker.shape == wait.shape and worker.phase is Phase.WARMING
    )
    asked = warming or sorted(planned.fleet.asked.get(wait.shape, ()))
    return tuple(asked[: max(wait.workers, 1)])


def _plan(planned: Planned, facts: Facts, wait: Wait) -> Evidence:
    return rows.of_plan(
        planned, facts, cause=wait.cause.value, shape=wait.shape or None, workers=wait.workers
    )


def _said(kind: Kind, planned: Planned, facts: Facts, wait: Wait, job: Job) -> Link:
    """Return the planner's own words, which are about all the jobs with the same needs."""
    words = wait.sentence or f"It needs {needs(job)}"
    return Link(
        kind=kind,
        claim=words.rstrip("."),
        evidence=(_plan(planned, facts, wait), rows.of_job(job, facts)),
    )


def _warming(job: Job, facts: Facts, planned: Planned, wait: Wait) -> Answer:
    workers = max(wait.workers, 1)
    asked = awaited(wait, planned)
    usual = facts.starts.get(wait.shape, ())
    verb = {1: "it is", 2: "both are"}.get(workers, "all are")
    summary = f"Waiting for {count(workers, f'{wait.shape} worker')}; {verb} starting"
    links = [_said(Kind.PROVISIONING, planned, facts, wait, job), *_asked(facts, planned, wait)]
    if usual:
        typical = quantile(sorted(usual), 0.5)
        summary += f", usually {span(typical)} here"
        links.append(_usually(facts, wait, usual, typical))
    since = facts.now - asked[0] if asked else timedelta()
    slow = (
        max(LATE * quantile(sorted(usual), 0.5), LATE_AT_LEAST.total_seconds())
        if usual
        else (LATE_AT_LEAST.total_seconds())
    )
    if since.total_seconds() > slow:
        summary = (
            f"Waiting for {count(workers, f'{wait.shape} worker')} asked for {span(since)} ago "
            "and not seen since: late"
        )
        links.append(
            Link(
                kind=Kind.PROVISIONING,
                claim=f"The oldest was asked for {span(since)} ago; "
                "one that does not come is given up, and another shape is tried",
                evidence=(_plan(planned, facts, wait),),
            )
        )
    return Answer(
        kind=Kind.PROVISIONING,
        summary=f"{summary}.",
        links=tuple(links),
        sooner=_idle_instead(job, planned),
        in_line=True,
    )


def _asked(facts: Facts, planned: Planned, wait: Wait) -> list[Link]:
    of_shape = [each for each in planned.workers if each.shape == wait.shape]
    up = sum(each.phase is Phase.READY for each in of_shape)
    coming = sum(each.phase is Phase.WARMING for each in of_shape)
    row = rows.newest(facts.fleet_rows, "fleet.resized", shape=wait.shape)
    evidence: list[Evidence] = [_plan(planned, facts, wait)]
    claim = (
        f"{planned.fleet.desired.get(wait.shape, 0)} {wait.shape} are wanted; "
        f"{up} up, {coming} starting"
    )
    if row is not None:
        evidence.insert(
            0, rows.of_event(row, before=row.data.get("before"), after=row.data.get("after"))
        )
        claim += f" (asked for {span(facts.now - row.at)} ago)"
    return [Link(kind=Kind.PROVISIONING, claim=claim, evidence=tuple(evidence))]


def _usually(facts: Facts, wait: Wait, usual: tuple[float, ...], typical: float) -> Link:
    came = [
        row
        for row in facts.fleet_rows
        if row.type == "node.registered" and str(row.data.get("node", "")).startswith(wait.shape)
    ]
    ordered = sorted(usual)
    return Link(
        kind=Kind.PROVISIONING,
        claim=f"{count(len(usual), f'{wait.shape} worker')} came before: usually {span(typical)}, "
        f"from {span(ordered[0])} to {span(ordered[-1])}",
        evidence=tuple(rows.of_event(row, node=row.data.get("node")) for row in came[-rows.MOST :]),
    )


def _idle_instead(job: Job, planned: Planned) -> tuple[Sooner, ...]:
    """Look for a worker that stands idle and would do, if the job asked for a little less."""
    nodes = max(job.nodes_wanted, 1)
    if nodes > 1 or job.gpus:
        return ()
    cpus, memory_mib = per_node(job.cpus, nodes), per_node(job.memory_mib, nodes)
    idle = [w for w in planned.workers if w.phase is Phase.READY and not w.busy and w.cpus]
    for worker in sorted(idle, key=lambda each: (-each.cpus, each.name)):
        fits_cpus, fits_memory = min(cpus, worker.cpus), min(memory_mib, worker.memory_mib)
        if worker.cpus * 2 < cpus or worker.memory_mib * 2 < memory_mib:
            continue
        less = []
        if fits_cpus < cpus:
            less.append(f"{count(fits_cpus, 'CPU')} instead of {cpus}")
        if fits_memory < memory_mib:
            less.append(f"{memory(fits_memory)} instead of {memory(memory_mib)}")
        if less:
            return (Sooner(say=f"ask for {' and '.join(less)}: a {worker.shape} is idle"),)
    return ()


def _room(job: Job, facts: Facts, planned: Planned, wait: Wait) -> Answer:
    return Answer(
        kind=Kind.SCHEDULER,
        summary="There is room for it; Slurm starts it when it comes round to it.",
        links=(_said(Kind.SCHEDULER, planned, facts, wait, job),),
        in_line=True,
    )


def _never(job: Job, facts: Facts, planned: Planned, wait: Wait) -> Answer:
    links = [_said(Kind.NEVER, planned, facts, wait, job)]
    shape = planned.shapes.get(wait.shape)
    summary = f"It will never start as it is: no shape holds {needs(job)}"
    sooner: list[Sooner] = []
    if shape is not None:
        offers = f"{count(shape.cpus, 'CPU')} and {memory(shape.memory_mib)}"
        if shape.gpus:
            offers += f" and {count(shape.gpus, f'{shape.gpu_model} GPU')}"
        summary += f"; the nearest, {shape.name}, offers {offers}"
        links.append(
            Link(
                kind=Kind.NEVER,
                claim=f"The nearest shape is {shape.name} with {offers}",
                evidence=(
                    rows.of_plan(
                        planned,
                        facts,
                        shape=shape.name,
                        cpus=shape.cpus,
                        memory_mib=shape.memory_mib,
                        gpus=shape.gpus,
                    ),
                ),
            )
        )
        sooner.append(Sooner(say=f"submit it again with at most {offers} on each node"))
    sooner.append(
        Sooner(say="take it out of the queue", command=f"clusterra jobs cancel {handle(job)}")
    )
    return Answer(
        kind=Kind.NEVER,
        summary=f"{summary}.",
        links=tuple(links),
        sooner=tuple(sooner),
        hopeless=True,
    )


def _max_workers(job: Job, facts: Facts, planned: Planned, wait: Wait) -> Answer:
    most, there = planned.policy.max_workers, sum(planned.fleet.desired.values())
    more = max(wait.workers, 1)
    busy = _busy(facts)
    users = whose(busy, facts.caller)
    return Answer(
        kind=Kind.MAX_WORKERS,
        summary=f"The fleet is at its limit of {count(most, 'worker')}; "
        f"it needs {count(more, f'{wait.shape} worker' if wait.shape else 'worker')} more.",
        links=(
            _said(Kind.MAX_WORKERS, planned, facts, wait, job),
            Link(
                kind=Kind.MAX_WORKERS,
                claim=f"{there} of {most} workers are there or starting"
                + (f", in use by {users}" if users else ""),
                evidence=(
                    rows.of_plan(planned, facts, max_workers=most, desired=there),
                    *rows.of_others(busy, facts),
                ),
            ),
        ),
        sooner=(
            Sooner(
                say=f"have an admin raise max_workers from {most} to {most + more}",
                command=f"clusterra fleet policy set --max-workers {most + more}",
            ),
        ),
        in_line=True,
    )


def _max_spend(job: Job, facts: Facts, planned: Planned, wait: Wait) -> Answer:
    most = planned.policy.max_usd_per_hour or 0
    shapes, buys = planned.shapes, planned.policy.purchase
    prices = {name: shapes[name].usd_per_hour(buys) or 0 for name in shapes}
    now = sum(prices.get(name, 0) * number for name, number in planned.fleet.desired.items())
    each = prices.get(wait.shape, 0)
    wanted = now + each * max(wait.workers, 1)
    busy = _busy(facts)
    return Answer(
        kind=Kind.MAX_SPEND,
        summary=f"The fleet may cost {_usd(most)} an hour and costs {_usd(now)}; "
        f"{count(max(wait.workers, 1), f'{wait.shape} worker')} more would make it {_usd(wanted)}.",
        links=(
            _said(Kind.MAX_SPEND, planned, facts, wait, job),
            Link(
                kind=Kind.MAX_SPEND,
                claim=f"{_usd(now)} of {_usd(most)} an hour is in use; "
                f"a {wait.shape} costs {_usd(each)}",
                evidence=(
                    rows.of_plan(
                        planned,
                        facts,
                        max_usd_per_hour_micros=most,
                        usd_per_hour_micros=now,
                        worker_usd_per_hour_micros=each,
                    ),
                    *rows.of_others(busy, facts),
                ),
            ),
        ),
        sooner=(
            Sooner(
                say=f"have an admin raise the limit from {_usd(most)} to {_usd(wanted)} an hour",
                command=f"clusterra fleet policy set --max-usd-per-hour {_dollars(wanted)}",
            ),
        ),
        in_line=True,
    )


def _shortage(job: Job, facts: Facts, planned: Planned, wait: Wait) -> Answer:
    short = planned.fleet.shortages.get(wait.shape)
    row = rows.newest(facts.fleet_rows, "fleet.shortage", shape=wait.shape)
    links = [_said(Kind.SHORTAGE, planned, facts, wait, job)]
    summary = f"{wait.shape or 'The workers it needs'} did not come"
    if short is not None:
        left = short.until - facts.now
        summary += f": {short.why.rstrip('.')}; "
        summary += f"tried again in {span(left)}" if left > timedelta() else "tried again now"
        evidence: tuple[Evidence, ...] = (
            rows.of_plan(
                planned,
                facts,
                shape=wait.shape,
                why=short.why,
                failures=short.failures,
                until=short.until.isoformat(),
            ),
        )
        if row is not None:
            evidence = (rows.of_event(row, shape=wait.shape, why=short.why), *evidence)
        links.append(
            Link(
                kind=Kind.SHORTAGE,
                claim=f"{wait.shape} failed to come {count(short.failures, 'time')}: {short.why}",
                evidence=evidence,
            )
        )
    sooner = (
        [Sooner(say="drop its constraint, so that other shapes can hold it")]
        if job.features
        else []
    )
    sooner.append(Sooner(say="ask for less, so that another shape can hold it"))
    return Answer(
        kind=Kind.SHORTAGE,
        summary=f"{summary}.",
        links=tuple(links),
        sooner=tuple(sooner),
        not_before=short.until if short else None,
        in_line=True,
    )


def _busy(facts: Facts) -> list[Job]:
    return [job for job in facts.live if job.state is not JobState.PENDING]


def _usd(micros: int) -> str:
    return f"${_dollars(micros)}"


def _dollars(micros: int) -> str:
    """Return whole cents, rounded up so that it is enough."""
    return f"{-(-micros // 10_000) / 100:.2f}"

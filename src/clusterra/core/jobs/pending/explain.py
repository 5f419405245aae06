"""Say why a job waits: one sentence, the chain behind it, and what would start it sooner.

Pure: whoever loads the facts is in `control/explain.py`. Who answers which reason is in
`codes`; what the planner has said of a job comes before what Slurm says of it, for Slurm does
not know which workers are on their way.
"""

from collections.abc import Iterable
from dataclasses import replace

from clusterra.core.jobs.forecast import Ahead, Race, Runner
from clusterra.core.jobs.job import Job, JobState
from clusterra.core.jobs.pending import rows
from clusterra.core.jobs.pending.codes import CODES, FOR_THE_FLEET, unknown
from clusterra.core.jobs.pending.facts import Facts
from clusterra.core.jobs.pending.fleet import awaited, by_the_plan
from clusterra.core.jobs.pending.limit_names import named
from clusterra.core.jobs.pending.limits import at_a_limit
from clusterra.core.jobs.pending.partitions import by_partition
from clusterra.core.jobs.pending.places import for_nodes, required_gone, unknown_feature
from clusterra.core.jobs.pending.why import Answer, Kind, Link, Why
from clusterra.core.jobs.pending.words import needs, whose
from clusterra.core.scaling.plan import Cause
from clusterra.core.seen import Seen, Unseen
from clusterra.core.words import count, span


def explain(job: Job, facts: Facts) -> Why:
    if job.state is not JobState.PENDING:
        return _not_waiting(job, facts)
    answer = answered(job, facts)
    links = list(answer.links)
    summary = answer.summary
    if answer.in_line:
        links.append(_place(job, facts))
        summary = _with_place(summary, facts)
    if facts.stale:
        summary = f"As last seen: {summary[0].lower()}{summary[1:]}"
    return Why(
        kind=_kind(answer, job, facts),
        summary=summary,
        chain=tuple(links),
        sooner=answer.sooner,
        unseen=tuple(_unseen(facts)),
    )


def code_of(job: Job) -> str:
    """Return Slurm's code; it may stand before a sentence: `ReqNodeNotAvail, UnavailableNodes:w1`."""
    return job.reason.partition(",")[0].strip()


def answered(job: Job, facts: Facts) -> Answer:
    code = code_of(job)
    if code == "PartitionConfig":
        # What Slurm says at first of any rule that a job breaks: no worker would help there.
        looked = by_partition(job, facts, code)
        if looked.kind is Kind.PARTITION and looked.hopeless:
            return looked
    if code in FOR_THE_FLEET:
        planned = by_the_plan(job, facts)
        if "for maintenance" in job.reason_said.lower():
            looked = for_nodes(job, facts, code)
            if looked.kind is Kind.RESERVATION:
                return looked
        if planned is not None and planned.kind is Kind.SCHEDULER:
            # The fleet is large enough, so what it waits for is to be seen at the nodes.
            looked = for_nodes(job, facts, code)
            return replace(looked, links=(*looked.links, *planned.links))
        if answer := unknown_feature(job, facts) or required_gone(job, facts) or planned:
            return answer
    if code in CODES:
        return CODES[code](job, facts, code)
    if limit := named(code):
        return at_a_limit(job, facts, code, limit)
    return unknown(job, facts, code)


def _kind(answer: Answer, job: Job, facts: Facts) -> Kind:
    """Being behind others is what it waits for, where what it needs is merely in use."""
    if answer.kind in (Kind.CAPACITY, Kind.SCHEDULER) and code_of(job) == "Priority":
        return Kind.PRIORITY if facts.line.ahead else answer.kind
    return answer.kind


def _place(job: Job, facts: Facts) -> Link:
    line = facts.line
    if line.ahead:
        users = whose(line.first, facts.caller)
        claim = (
            f"{count(line.ahead, 'job')} of {line.waiting:,} waiting in {job.partition} "
            f"{'is' if line.ahead == 1 else 'are'} ahead of it ({users or 'of others'})"
        )
    else:
        claim = f"Nothing is ahead of it in {job.partition or 'the queue'}"
    return Link(
        kind=Kind.PRIORITY,
        claim=claim,
        evidence=(rows.of_line(job, facts), *rows.of_others(line.first, facts)),
    )


def _with_place(summary: str, facts: Facts) -> str:
    line = facts.line
    if not line.ahead:
        return summary
    return f"{summary.rstrip('.')}; {line.ahead:,} of {line.waiting:,} are ahead of it."


def _unseen(facts: Facts) -> Iterable[str]:
    if facts.stale:
        yield f"Slurm cannot be asked now, so this is as it was last seen: {facts.stale}"
    for what, sight in (
        ("The nodes", facts.nodes),
        ("The partitions", facts.rules),
        ("The limits of accounts and QOS", facts.limits),
        ("The reservations", facts.reservations),
        ("The licences", facts.licences),
        ("The fleet's plan", facts.planned),
    ):
        if isinstance(sight, Unseen) and sight.why:
            yield f"{what} could not be seen: {sight.why}"


def _not_waiting(job: Job, facts: Facts) -> Why:
    waited = _waited(job)
    evidence = [rows.of_job(job, facts)]
    links = []
    for row in facts.history:
        if row.type in ("job.pending", "job.held", "job.released", "job.started"):
            reason = row.data.get("reason")
            words = {
                "job.pending": f"it waited ({reason})" if reason else "it waited for its turn",
                "job.held": "it was held",
                "job.released": "it was released",
                "job.started": "it started",
            }[row.type]
            links.append(
                Link(
                    kind=Kind.RUNNING if row.type == "job.started" else Kind.OTHER,
                    claim=f"{span(row.at - job.born_at)} after it was submitted, {words}",
                    evidence=(rows.of_event(row, reason=reason),),
                )
            )
    starting = "CONFIGURING" in job.flags
    if job.state.ended:
        kind = Kind.ENDED
        how = job.state.value.lower().replace("_", " ")
        summary = f"It does not wait: it has ended ({how})"
    else:
        kind = Kind.PROLOG if starting else Kind.RUNNING
        where = f" on {job.nodes}" if job.nodes else ""
        verb = "being started" if starting else job.state.value.lower()
        summary = f"It does not wait: it is {verb}{where}"
    if waited:
        summary += f", after waiting {waited}"
    links.insert(
        0,
        Link(kind=kind, claim=f"It asked for {needs(job)}", evidence=tuple(evidence)),
    )
    return Why(kind=kind, summary=f"{summary}.", chain=tuple(links), unseen=tuple(_unseen(facts)))


def _waited(job: Job) -> str:
    until = job.started_at or job.ended_at
    return span(until - job.submitted_at) if until else ""


def ahead_of(job: Job, facts: Facts) -> Ahead | None:
    """Return what has to happen before it starts; None where time alone will not start it."""
    if job.state is not JobState.PENDING:
        return None
    answer = answered(job, facts)
    if answer.hopeless:
        return None
    plain = Ahead(not_before=answer.not_before, expected_at=job.expected_at)
    if answer.after:
        known = [*facts.live, *(each for each in facts.dependencies.values() if each)]
        running = {each.id: each for each in known if each.id in answer.after}
        need = len(running) if answer.kind is Kind.DEPENDENCY else 1
        runners = tuple(Runner.of(each, 1) for each in running.values())
        return replace(plain, race=Race(running=runners, need=need)) if runners else plain
    if answer.kind is Kind.PROVISIONING:
        assert isinstance(facts.planned, Seen)
        wait = facts.planned.value.plan.waits[job.id]
        if wait.cause is Cause.WARMING and (asked := awaited(wait, facts.planned.value)):
            return replace(plain, awaited=asked, shape=wait.shape)
    if answer.kind in (
        Kind.CAPACITY,
        Kind.PRIORITY,
        Kind.MAX_WORKERS,
        Kind.MAX_SPEND,
        Kind.LICENCE,
    ):
        return replace(plain, race=_for_cpus(job, facts))
    return plain


def _for_cpus(job: Job, facts: Facts) -> Race:
    """Take the partition as one pool of CPUs: nearly right, and never by the size of a node."""
    running = [
        each
        for each in facts.live
        if each.state is not JobState.PENDING and each.partition == job.partition
    ]
    free = 0
    if isinstance(facts.nodes, Seen):
        free = sum(
            max(node.cpus - node.cpus_used, 0)
            for node in facts.nodes.value
            if job.partition in node.partitions and node.cpus - node.cpus_used >= job.cpus
        )
    return Race(
        running=tuple(Runner.of(each, max(each.cpus, 1)) for each in running),
        ahead=tuple(Runner.of(each, max(each.cpus, 1)) for each in facts.line.first),
        free=free,
        need=max(job.cpus, 1),
    )

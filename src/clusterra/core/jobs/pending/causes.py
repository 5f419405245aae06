"""Why a job waits for something that is neither nodes, nor workers, nor a limit of accounting."""

import re
from datetime import datetime

from clusterra.core.access import sees
from clusterra.core.jobs.job import Job, JobState
from clusterra.core.jobs.pending import rows
from clusterra.core.jobs.pending.facts import Facts
from clusterra.core.jobs.pending.limits import licences_of
from clusterra.core.jobs.pending.places import for_nodes, kept_for_others
from clusterra.core.jobs.pending.why import Answer, Evidence, Kind, Link, Sooner
from clusterra.core.jobs.pending.words import called, handle, listed, whose
from clusterra.core.seen import Seen
from clusterra.core.words import count, span

_ENDS_WELL = frozenset({"afterok", "aftercorr"})


def held_by_user(job: Job, facts: Facts, code: str) -> Answer:
    return _held(job, facts, code, otherwise=f"its owner {job.user}")


def held_by_admin(job: Job, facts: Facts, code: str) -> Answer:
    said = job.reason_said.lower()
    if "launch" in said or "requeued held" in said:
        return launch_failed(job, facts, code)
    return _held(job, facts, code, otherwise="an admin of Slurm")


def _held(job: Job, facts: Facts, code: str, *, otherwise: str) -> Answer:
    row = rows.newest(facts.history, "job.held")
    evidence: tuple[Evidence, ...] = (rows.of_job(job, facts, priority=job.priority),)
    who, when = otherwise, ""
    if row is not None:
        evidence = (rows.of_event(row, reason=row.data.get("reason")), *evidence)
        when = f" {span(facts.now - row.at)} ago"
        if row.actor.startswith("user:"):
            who = row.actor.removeprefix("user:")
    command = f"clusterra jobs release {handle(job)}"
    admin = code == "JobHeldAdmin"
    return Answer(
        kind=Kind.HELD,
        summary=f"Held by {who}{when}; it starts only when it is released ({code}).",
        links=(Link(kind=Kind.HELD, claim=f"Held by {who}{when}", evidence=evidence),),
        sooner=(
            Sooner(say="have an admin release it" if admin else "release it", command=command),
        ),
        hopeless=True,
    )


def launch_failed(job: Job, facts: Facts, code: str) -> Answer:
    row = rows.newest(facts.history, "job.requeued", "job.held")
    evidence = (rows.of_job(job, facts, restarts=job.restarts),)
    return Answer(
        kind=Kind.LAUNCH,
        summary=f"It could not be started {count(max(job.restarts, 1), 'time')}, so Slurm holds it"
        f"{f': {job.reason_said}' if job.reason_said else f' ({code})'}.",
        links=(
            Link(
                kind=Kind.LAUNCH,
                claim=f"Put back into the queue {count(job.restarts, 'time')} and held ({code})",
                evidence=(rows.of_event(row), *evidence) if row else evidence,
            ),
        ),
        sooner=(
            Sooner(
                say="check that its owner and its working directory exist on the nodes, then "
                "release it",
                command=f"clusterra jobs release {handle(job)}",
            ),
        ),
        hopeless=True,
    )


def on_others(job: Job, facts: Facts, code: str) -> Answer:
    """Say which jobs it waits for, and whether they can still end the way it needs."""
    never = code == "DependencyNeverSatisfied"
    own = rows.of_job(job, facts, dependency=job.dependency or None)
    links, after, words = [], [], []
    for how, id in _dependencies(job):
        other = facts.dependencies.get(id)
        claim, broken = _dependency(how, id, other, facts)
        never = never or broken
        evidence = [own]
        if other is not None:
            if sees(facts.caller, other.user):
                evidence.append(rows.of_other(other, facts))
            if not other.state.ended:
                after.append(id)
        words.append(claim)
        links.append(Link(kind=Kind.DEPENDENCY, claim=claim, evidence=tuple(evidence)))
    what = "; ".join(words[:2]) or "another job has to end first"
    if not links:
        links.append(Link(kind=Kind.DEPENDENCY, claim=f"Slurm says {code}", evidence=(own,)))
    sooner: list[Sooner] = []
    if never:
        sooner.append(
            Sooner(
                say="cancel it, and submit it again without the dependency",
                command=f"clusterra jobs cancel {handle(job)}",
            )
        )
        summary = f"It will never start: {what} ({code})."
    else:
        summary = f"Waiting for other jobs: {what}."
    return Answer(
        kind=Kind.DEPENDENCY,
        summary=summary,
        links=tuple(links),
        sooner=tuple(sooner),
        after=tuple(after),
        hopeless=never,
    )


def dependency_ids(job: Job) -> list[int]:
    return [id for _, id in _dependencies(job)]


def _dependencies(job: Job) -> list[tuple[str, int]]:
    """Read `afterok:41(unfulfilled),afterany:42:43` into what must happen to which job."""
    parts = (part.partition(":") for part in re.split(r"[,?]", job.dependency))
    return [
        (how.strip().lower(), int(id))
        for how, _, ids in parts
        for id in re.findall(r"(?:^|:)(\d+)", f":{ids}")
    ]


def _dependency(how: str, id: int, other: Job | None, facts: Facts) -> tuple[str, bool]:
    if other is None:
        return f"job {id} ({how}) is not known here any more", False
    who = called(other, facts.caller)
    state = other.state.value.lower()
    if not other.state.ended:
        wants = {"afterok": "end well", "afternotok": "fail", "after": "start"}.get(how, "end")
        since = f" for {span(facts.now - other.started_at)}" if other.started_at else ""
        return f"{who} has to {wants} first; it is {state}{since}", False
    well = other.state is JobState.COMPLETED
    if how in _ENDS_WELL and not well:
        return f"{who} had to end well, and ended {state}", True
    if how == "afternotok" and well:
        return f"{who} had to fail, and completed", True
    return f"{who} has ended ({state})", False


def begins_later(job: Job, facts: Facts, code: str) -> Answer:
    at = _later(job.eligible_at, facts) or _later(job.expected_at, facts)
    when = f"in {span(at - facts.now)}" if at else "soon"
    again = job.restarts > 0 or "REQUEUED" in job.flags
    why = "Slurm waits a little before it starts it again" if again else "asked not to start before"
    return Answer(
        kind=Kind.BEGIN_TIME,
        summary=f"It is not to start yet: it may {when}.",
        links=(
            Link(
                kind=Kind.BEGIN_TIME,
                claim=f"{why[0].upper()}{why[1:]}: {when} ({code})",
                evidence=(rows.of_job(job, facts, begins_at=at.isoformat() if at else None),),
            ),
        ),
        sooner=(
            Sooner(
                say="let it start now",
                command=f"scontrol update jobid={handle(job)} starttime=now",
            ),
        ),
        not_before=at,
    )


def _later(at: datetime | None, facts: Facts) -> datetime | None:
    return at if at is not None and at > facts.now else None


def for_reservation(job: Job, facts: Facts, code: str) -> Answer:
    own = rows.of_job(job, facts, reservation=job.reservation or None)
    if not isinstance(facts.reservations, Seen):
        return Answer(
            kind=Kind.RESERVATION,
            summary=f"It waits for the reservation {job.reservation or 'it asked for'} ({code}).",
            links=(Link(kind=Kind.RESERVATION, claim=f"Slurm says {code}", evidence=(own,)),),
        )
    found = next((r for r in facts.reservations.value if r.name == job.reservation), None)
    if found is None and not job.reservation:
        # It asked for none: somebody else's keeps the nodes.
        blocking = next(iter(facts.reservations.value), None)
        return kept_for_others(job, facts, blocking) if blocking else for_nodes(job, facts, code)
    if found is None:
        return Answer(
            kind=Kind.RESERVATION,
            summary=f"There is no reservation {job.reservation} any more; it will not start.",
            links=(
                Link(
                    kind=Kind.RESERVATION,
                    claim=f"It asks for the reservation {job.reservation}, which is gone ({code})",
                    evidence=(own,),
                ),
            ),
            sooner=(Sooner(say="submit it again without that reservation"),),
            hopeless=True,
        )
    evidence = (rows.of_reservation(found, facts), own)
    if not found.is_for(job.user, job.account):
        who = listed([*found.users, *found.accounts]) or "nobody"
        return Answer(
            kind=Kind.RESERVATION,
            summary=f"The reservation {found.name} is for {who}, not for {job.user}.",
            links=(
                Link(kind=Kind.RESERVATION, claim=f"{found.name} is for {who}", evidence=evidence),
            ),
            sooner=(Sooner(say="submit it again without that reservation"),),
            hopeless=True,
        )
    starts = _later(found.starts_at, facts)
    if starts is None:
        inner = for_nodes(job, facts, code)
        link = Link(
            kind=Kind.RESERVATION,
            claim=f"The reservation {found.name} has begun; its nodes are {found.nodes}",
            evidence=evidence,
        )
        return Answer(
            kind=Kind.RESERVATION,
            summary=inner.summary,
            links=(link, *inner.links),
            sooner=inner.sooner,
            in_line=inner.in_line,
        )
    return Answer(
        kind=Kind.RESERVATION,
        summary=f"It waits for its reservation {found.name}, which begins in "
        f"{span(starts - facts.now)}.",
        links=(
            Link(
                kind=Kind.RESERVATION,
                claim=f"{found.name} begins in {span(starts - facts.now)} on {found.nodes} "
                f"for {listed([*found.users, *found.accounts])}",
                evidence=evidence,
            ),
        ),
        sooner=(Sooner(say="submit it again without the reservation, to take its turn now"),),
        not_before=starts,
    )


def for_licences(job: Job, facts: Facts, code: str) -> Answer:
    wanted = licences_of(job)
    own = rows.of_job(job, facts, licenses=job.licenses)
    if not isinstance(facts.licences, Seen):
        return Answer(
            kind=Kind.LICENCE,
            summary=f"It waits for licences: {job.licenses or 'some'} ({code}).",
            links=(Link(kind=Kind.LICENCE, claim=f"It asks for {job.licenses}", evidence=(own,)),),
            in_line=True,
        )
    pools = {each.name.partition("@")[0]: each for each in facts.licences.value}
    links, sentences, after = [], [], []
    never = False
    for name, number in wanted.items():
        pool = pools.get(name)
        if pool is None:
            never = True
            sentences.append(f"there is no licence {name}")
            links.append(Link(kind=Kind.LICENCE, claim=sentences[-1].capitalize(), evidence=(own,)))
            continue
        if pool.free >= number and len(wanted) > 1:
            continue
        holders = [
            each
            for each in facts.live
            if each.state is not JobState.PENDING and name in licences_of(each)
        ]
        after += [each.id for each in holders]
        users = whose(holders, facts.caller)
        never = never or number > pool.total
        sentences.append(
            f"it needs {number} {name} and {pool.free} of {pool.total} are free"
            + (f" (in use by {users})" if users else "")
        )
        links.append(
            Link(
                kind=Kind.LICENCE,
                claim=f"{sentences[-1][0].upper()}{sentences[-1][1:]}",
                evidence=(rows.of_licence(pool, facts), own, *rows.of_others(holders, facts)),
            )
        )
    what = "; ".join(sentences) or f"it asks for {job.licenses}"
    return Answer(
        kind=Kind.LICENCE,
        summary=f"Waiting for licences: {what}.",
        links=tuple(links) or (Link(kind=Kind.LICENCE, claim=what, evidence=(own,)),),
        sooner=(Sooner(say="ask for fewer licences, or for none"),),
        after=tuple(after),
        hopeless=never,
        in_line=True,
    )


def array_throttle(job: Job, facts: Facts, code: str) -> Answer:
    most = job.array_waiting.partition("%")[2]
    running = [
        each
        for each in facts.live
        if each.array_id == (job.array_id or job.id) and each.state is not JobState.PENDING
    ]
    limit = f" at most {most} at once" if most.isdigit() else " only so many at once"
    users = listed(each.label for each in running)
    return Answer(
        kind=Kind.ARRAY,
        summary=f"Its array runs{limit}, and {count(len(running), 'task')} "
        f"{'runs' if len(running) == 1 else 'run'} now ({code}).",
        links=(
            Link(
                kind=Kind.ARRAY,
                claim=f"The array was submitted with a limit:{limit}; running: {users or 'none'}",
                evidence=(
                    rows.of_job(job, facts, array=job.array_waiting or None),
                    *rows.of_others(running, facts),
                ),
            ),
        ),
        sooner=(
            Sooner(
                say="let more of its tasks run at once",
                command=f"scontrol update jobid={job.array_id or job.id} "
                f"arraytaskthrottle={2 * int(most) if most.isdigit() else 0}",
            ),
        ),
        after=tuple(each.id for each in running),
    )

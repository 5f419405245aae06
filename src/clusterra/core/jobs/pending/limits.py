"""Why a job waits for a limit: which, how much of it is in use, and by whom."""

from collections.abc import Sequence
from dataclasses import dataclass

from clusterra.core.jobs.job import Job, JobState
from clusterra.core.jobs.pending import rows
from clusterra.core.jobs.pending.facts import Facts
from clusterra.core.jobs.pending.limit_names import Named, command
from clusterra.core.jobs.pending.why import Answer, Kind, Link, Sooner
from clusterra.core.jobs.pending.words import memory, minutes, whose
from clusterra.core.limits import Holder, Limit, Limits, Measure, Per
from clusterra.core.seen import Seen
from clusterra.core.words import count

_LIVE = {Measure.SUBMITTED: (JobState.PENDING, JobState.RUNNING, JobState.SUSPENDED)}
_RUNNING = (JobState.RUNNING, JobState.SUSPENDED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """A limit with what is counted against it."""

    limit: Limit
    asks: int | None
    """What this job would add; None where that is not known."""

    used: int | None
    by: Sequence[Job] = ()

    @property
    def room(self) -> int:
        return self.limit.amount - (self.used or 0)

    @property
    def alone_too_much(self) -> bool:
        """No wait helps: the job by itself is past it."""
        if self.limit.rule.least:
            return True
        return self.asks is not None and self.asks > self.limit.amount

    @property
    def tight(self) -> bool:
        return self.limit.rule.least or (self.asks or 0) > self.room


def at_a_limit(job: Job, facts: Facts, code: str, name: Named) -> Answer:
    own = rows.of_job(job, facts)
    if not isinstance(facts.limits, Seen):
        said = f"It waits for a limit of its {_holder_word(name.holder)} ({code})."
        return Answer(
            kind=Kind.LIMIT,
            summary=said,
            links=(Link(kind=Kind.LIMIT, claim=f"Slurm says {code}", evidence=(own,)),),
        )
    counts = [_counted(job, facts, each) for each in _meant(job, facts, name)]
    if not counts:
        return Answer(
            kind=Kind.LIMIT,
            summary=f"It waits for a limit of its {_holder_word(name.holder)} ({code}), "
            "which has been lifted since: Slurm starts it when it looks again.",
            links=(
                Link(
                    kind=Kind.LIMIT,
                    claim=f"Slurm says {code}; accounting shows no such limit now",
                    evidence=(own,),
                ),
            ),
        )
    tightest = min(counts, key=lambda each: (not each.tight, each.room))
    return _told(job, facts, tightest, code)


def _meant(job: Job, facts: Facts, name: Named) -> list[Limit]:
    assert isinstance(facts.limits, Seen)
    held = {job.qos}
    if isinstance(facts.rules, Seen):
        held |= {each.qos for each in facts.rules.value if each.name == job.partition and each.qos}
    return [
        limit
        for limit in facts.limits.value.rows
        if name.means(limit.rule)
        and (limit.rule.holder is not Holder.QOS or limit.of in held)
        and _asks_for(job, limit.rule.resource)
    ]


def _asks_for(job: Job, resource: str) -> bool:
    """Say whether a limit on this resource can hold it back at all."""
    if resource.startswith("gres/gpu"):
        return job.gpus > 0
    if resource.startswith("license/"):
        return resource.removeprefix("license/") in licences_of(job)
    return True


def _counted(job: Job, facts: Facts, limit: Limit) -> Count:
    rule = limit.rule
    asks = _amount(job, limit, facts)
    if rule.per in (Per.JOB, Per.NODE):
        return Count(limit=limit, asks=asks, used=0)
    if rule.measure is Measure.MINUTES or (rule.measure is Measure.WALL and rule.per is Per.GROUP):
        return Count(limit=limit, asks=None, used=None)
    assert isinstance(facts.limits, Seen)
    states = _LIVE.get(rule.measure, _RUNNING)
    by = [
        each
        for each in facts.live
        if each.state in states
        and each.key != job.key
        and _under(each, job, limit, facts.limits.value, facts)
    ]
    amounts = [_amount(each, limit, facts) for each in by]
    known = [each for each in amounts if each is not None]
    used = sum(known) if len(known) == len(amounts) else None
    return Count(
        limit=limit,
        asks=asks,
        used=used,
        by=[each for each, n in zip(by, amounts, strict=True) if n],
    )


def _under(other: Job, job: Job, limit: Limit, limits: Limits, facts: Facts) -> bool:
    """Say whether a job of `other`'s counts against the limit that holds `job`."""
    rule = limit.rule
    if rule.holder is Holder.ASSOCIATION:
        if limit.user and other.user != limit.user:
            return False
        if rule.per is Per.USER and other.user != job.user:
            return False
        return limits.under(other.account, limit.of)
    if other.qos != limit.of and not _by_partition(other, limit, facts):
        return False
    if rule.per is Per.USER:
        return other.user == job.user
    if rule.per is Per.ACCOUNT:
        return other.account == job.account
    return True


def _by_partition(job: Job, limit: Limit, facts: Facts) -> bool:
    return isinstance(facts.rules, Seen) and any(
        each.name == job.partition and each.qos == limit.of for each in facts.rules.value
    )


def _amount(job: Job, limit: Limit, facts: Facts) -> int | None:
    """Return how much of the limit one job takes."""
    rule = limit.rule
    if rule.measure in (Measure.JOBS, Measure.SUBMITTED):
        return 1
    if rule.measure is Measure.WALL:
        return job.time_limit_minutes
    amount = _held(job, rule.resource)
    if amount is None:
        return None
    if rule.per is Per.NODE:
        return -(-amount // max(job.nodes_wanted, 1))
    if rule.measure is Measure.AT_ONCE:
        return amount
    if job.time_limit_minutes is None:
        return None
    ran = int((facts.now - job.started_at).total_seconds()) // 60 if job.started_at else 0
    left = job.time_limit_minutes - (ran if rule.measure is Measure.RUN_MINUTES else 0)
    return amount * max(left, 0)


def _held(job: Job, resource: str) -> int | None:
    match resource:
        case "cpu":
            return job.cpus
        case "mem":
            return job.memory_mib
        case "node":
            return max(job.nodes_wanted, 1)
        case _ if resource.startswith("gres/gpu"):
            model = resource.partition(":")[2]
            return job.gpus if not model or job.gpu_model in ("", model) else 0
        case _ if resource.startswith("license/"):
            return licences_of(job).get(resource.removeprefix("license/"), 0)
    return None


def licences_of(job: Job) -> dict[str, int]:
    """Read `matlab:2,ansys@server` into how many of which."""
    found: dict[str, int] = {}
    for part in job.licenses.replace("|", ",").split(","):
        name, _, number = part.strip().partition(":")
        if name:
            found[name.partition("@")[0]] = int(number) if number.isdigit() else 1
    return found


def _told(job: Job, facts: Facts, at: Count, code: str) -> Answer:
    limit, rule = at.limit, at.limit.rule
    most = _said(limit, limit.amount)
    claim = f"{_owner(limit)} {'wants at least' if rule.least else 'allows'} {most}{_over(limit)}"
    evidence = (rows.of_limit(limit, facts, used=at.used), rows.of_job(job, facts))
    links = [Link(kind=Kind.LIMIT, claim=f"{claim} ({code})", evidence=evidence)]
    tail = ""
    if at.used is not None and rule.per not in (Per.JOB, Per.NODE):
        more = "at least " if facts.more_live else ""
        users = whose(at.by, facts.caller)
        in_use = f"{more}{_said(limit, at.used)} in use" if at.used else "none in use"
        tail = f"; {in_use}"
        links.append(
            Link(
                kind=Kind.LIMIT,
                claim=f"In use: {more}{_said(limit, at.used)}{f' ({users})' if users else ''}",
                evidence=(evidence[0], *rows.of_others(at.by, facts)),
            )
        )
    elif at.used is None:
        tail = "; how much is used up, Slurm does not tell"
    if at.asks is not None and rule.measure not in (Measure.JOBS, Measure.SUBMITTED):
        links.append(
            Link(
                kind=Kind.LIMIT,
                claim=f"This job asks for {_said(limit, at.asks)}"
                + (": by itself past the limit" if at.alone_too_much else ""),
                evidence=(evidence[1],),
            )
        )
        alone = ": by itself too much" if at.alone_too_much and not rule.least else ""
        tail += f", and it asks for {_said(limit, at.asks)}{alone}"
    return Answer(
        kind=Kind.LIMIT,
        summary=f"{claim}{tail}.",
        links=tuple(links),
        sooner=_sooner(job, at),
        after=() if at.alone_too_much else tuple(each.id for each in at.by),
        hopeless=at.alone_too_much,
    )


def _sooner(job: Job, at: Count) -> tuple[Sooner, ...]:
    limit, rule = at.limit, at.limit.rule
    found = []
    if rule.least:
        found.append(Sooner(say=f"ask for at least {_said(limit, limit.amount)}"))
    elif at.asks is not None and rule.measure not in (Measure.JOBS, Measure.SUBMITTED):
        fits = limit.amount if at.alone_too_much else at.room
        if 0 < fits < at.asks and rule.measure is not Measure.RUN_MINUTES:
            found.append(Sooner(say=f"ask for at most {_said(limit, fits)}"))
        elif rule.measure is Measure.RUN_MINUTES:
            found.append(Sooner(say="ask for a shorter time limit"))
    wanted = (at.used or 0) + (at.asks or 1)
    if not rule.least and wanted > limit.amount:
        found.append(
            Sooner(
                say=f"have an admin raise it from {_said(limit, limit.amount)} "
                f"to {_said(limit, wanted)}",
                command=command(limit, wanted),
            )
        )
    if rule.holder is Holder.QOS and limit.of == job.qos:
        found.append(Sooner(say="submit it with another QOS, if your account has one"))
    return tuple(found)


def _owner(limit: Limit) -> str:
    if limit.rule.holder is Holder.QOS:
        return f"QOS {limit.of}"
    return f"Account {limit.of}"


def _holder_word(holder: Holder) -> str:
    return "QOS" if holder is Holder.QOS else "account"


def _over(limit: Limit) -> str:
    rule = limit.rule
    match rule.per:
        case Per.USER:
            return f" for {limit.user} at once" if limit.user else " for one person at once"
        case Per.ACCOUNT:
            return " for one account at once"
        case Per.JOB:
            return " for one job"
        case Per.NODE:
            return " on one node"
    whose = f" for {limit.user}" if limit.user else " for all its jobs together"
    return whose + (" at once" if rule.measure in (Measure.AT_ONCE, Measure.JOBS) else "")


_UNITS = {"cpu": "CPU", "node": "node", "gres/gpu": "GPU", "billing": "billing unit"}


def _said(limit: Limit, amount: int) -> str:
    """Return an amount of what is limited: `64 CPUs`, `4 GiB`, `2 jobs`, `600 CPU minutes`."""
    rule = limit.rule
    match rule.measure:
        case Measure.JOBS:
            return count(amount, "running job")
        case Measure.SUBMITTED:
            return count(amount, "job")
        case Measure.WALL:
            return minutes(amount)
    unit = _UNITS.get(rule.resource, rule.resource.rpartition("/")[2])
    if rule.measure is not Measure.AT_ONCE:
        return f"{amount:,} {'MiB' if rule.resource == 'mem' else unit} minutes"
    return memory(amount) if rule.resource == "mem" else count(amount, unit)

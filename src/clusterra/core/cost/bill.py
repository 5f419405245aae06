"""What a job costs: whole millionths of a dollar, the same whoever adds them up.

A job pays for what it kept others from using. On each of its nodes that is the largest of
its shares of the CPUs, the memory and the GPUs; its rate is the sum of those shares of the
nodes' prices. A charge is a time in which that rate stayed the same.

What has come together by a moment is rounded down once, from the beginning. What came
together between two moments is the difference: so hours add up to days and days to the
job, to the millionth.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise

from clusterra.core.cost.stints import Stint, Stints, at
from clusterra.core.hosts import expand
from clusterra.core.jobs.job import Job, JobState

HOUR = 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A time in which a job ran on the same nodes with the same resources."""

    since: datetime
    until: datetime
    nodes: tuple[str, ...]
    cpus: int
    """Over all its nodes; so are the next two."""

    memory_mib: int
    gpus: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    since: datetime
    until: datetime
    usd_per_hour: int
    """In millionths of a dollar."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    charges: tuple[Charge, ...] = ()
    why_unknown: str = ""
    """Why it is not known what it costs; then there are no charges."""

    @property
    def micros(self) -> int | None:
        return None if self.why_unknown else accrued(self.charges)

    @property
    def seconds(self) -> int:
        return sum(_seconds(each.since, each.until) for each in self.charges)

    @property
    def usd_per_hour(self) -> int | None:
        """The rate that counted last."""
        if self.why_unknown:
            return None
        return self.charges[-1].usd_per_hour if self.charges else 0


def accrued(charges: Iterable[Charge], until: datetime | None = None) -> int:
    """Return what has come together by a moment, or in all."""
    owed = 0
    for each in charges:
        end = each.until if until is None else min(each.until, until)
        if end > each.since:
            owed += each.usd_per_hour * _seconds(each.since, end)
    return owed // HOUR


def between(charges: Sequence[Charge], since: datetime, until: datetime) -> int:
    """Return what came together in a period; periods that meet add up exactly."""
    return accrued(charges, until) - accrued(charges, since)


def bill(stretches: Iterable[Stretch], nodes: Mapping[str, Stints]) -> Bill:
    """Price what a job had, piece by piece, by the history of its nodes."""
    charges: list[Charge] = []
    for stretch in stretches:
        known = [nodes.get(name, ()) for name in stretch.nodes]
        for since, until in pairwise(_bounds(stretch, known)):
            rate = 0
            for name, stints in zip(stretch.nodes, known, strict=True):
                stint = at(stints, since)
                if stint is None or stint.quote is None:
                    why = stint.why_not if stint else f"Nothing is known about the node {name}"
                    return Bill(why_unknown=why)
                rate += share_of(stint.quote.usd_per_hour, stretch, stint)
            charges.append(Charge(since=since, until=until, usd_per_hour=rate))
    return Bill(charges=tuple(_joined(charges)))


def share_of(price: int, stretch: Stretch, stint: Stint) -> int:
    """Return what the largest share of a node costs, its resources spread evenly over its nodes."""
    number = max(len(stretch.nodes), 1)
    used, whole = 0, 1
    for wanted, there in (
        (stretch.cpus, stint.cpus),
        (stretch.memory_mib, stint.memory_mib),
        (stretch.gpus, stint.gpus),
    ):
        if there and wanted * whole > used * there * number:
            used, whole = wanted, there * number
    return min((price * used + whole // 2) // whole, price)


def stretches(job: Job, now: datetime) -> Sequence[Stretch]:
    """Return when the present or last run of a job had its nodes, by Slurm's own times.

    Slurm says how long it was suspended in all and when that last ended. Several
    suspensions are taken as one that ended then.
    """
    names = tuple(sorted(expand(job.nodes)))
    if job.started_at is None or not names or job.state is JobState.PENDING:
        return ()
    end = max(job.ended_at or now, job.started_at)
    since = max(job.billed_until or job.started_at, job.started_at)
    paused = timedelta(seconds=job.suspended_seconds)
    if job.state is JobState.SUSPENDED and job.paused_at:
        end, resumed = job.paused_at, job.paused_at
    else:
        resumed = job.paused_at or end
    ran = [(job.started_at, resumed - paused), (resumed, end)]
    return [
        Stretch(
            since=max(begin, since),
            until=over,
            nodes=names,
            cpus=job.cpus,
            memory_mib=job.memory_mib,
            gpus=job.gpus,
        )
        for begin, over in ran
        if over > max(begin, since)
    ]


def _bounds(stretch: Stretch, known: Iterable[Stints]) -> list[datetime]:
    """Return the moments at which its rate may change, from its beginning to its end."""
    inside = {
        each.since
        for stints in known
        for each in stints
        if stretch.since < each.since < stretch.until
    }
    return [stretch.since, *sorted(inside), stretch.until]


def _joined(charges: Iterable[Charge]) -> Iterable[Charge]:
    """Make one of those that follow each other at the same rate."""
    last: Charge | None = None
    for each in charges:
        if last and last.until == each.since and last.usd_per_hour == each.usd_per_hour:
            last = replace(last, until=each.until)
            continue
        if last:
            yield last
        last = each
    if last:
        yield last


def _seconds(since: datetime, until: datetime) -> int:
    return int((until - since).total_seconds())

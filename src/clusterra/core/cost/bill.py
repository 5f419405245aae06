"""What a job costs: its share of the machines it had, for as long as it had them.

A job pays for what it kept others from using. On each of its nodes that is the largest of
its shares of the CPUs, the memory and the GPUs; its rate is the sum of those shares of the
nodes' prices. When a price or a node changes, one charge ends and the next begins.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise

from clusterra.core.cost.charges import Charge, accrued
from clusterra.core.cost.stints import Stint, Stints, at
from clusterra.core.hosts import expand
from clusterra.core.jobs.job import Job, JobState


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
class Bill:
    charges: tuple[Charge, ...] = ()
    why_unknown: str = ""
    """Why it is not known what it costs. One price that is missing is enough: a part of a cost
    would be taken for the whole."""

    estimate: bool = False
    """Nobody pays some of it: see `Quote`."""

    @property
    def micros(self) -> int | None:
        return None if self.why_unknown else accrued(self.charges)

    @property
    def seconds(self) -> int:
        return sum(each.seconds for each in self.charges)

    @property
    def usd_per_hour(self) -> int | None:
        """The rate that counted last."""
        if self.why_unknown:
            return None
        return self.charges[-1].usd_per_hour if self.charges else 0


def first_of(made: Bill) -> Bill:
    """Return the bill of the time until the rate changes for the first time."""
    return replace(made, charges=made.charges[:1])


def up_to(made: Bill, moment: datetime) -> Bill:
    """Return as much of a bill as there was at a moment."""
    charges = (replace(each, until=min(each.until, moment)) for each in made.charges)
    return replace(made, charges=tuple(each for each in charges if each.since < each.until))


def bill(stretches: Iterable[Stretch], nodes: Mapping[str, Stints]) -> Bill:
    """Price what a job had, piece by piece, by the history of its nodes."""
    charges: list[Charge] = []
    why, estimate = "", False
    for stretch in stretches:
        known = [nodes.get(name, ()) for name in stretch.nodes]
        for since, until in pairwise(_bounds(stretch, known)):
            rate: int | None = 0
            for name, stints in zip(stretch.nodes, known, strict=True):
                stint = at(stints, since)
                if stint is None or stint.quote is None:
                    why = why or (stint.why_not if stint else _never_seen(name))
                    rate = None
                    break
                rate = (rate or 0) + share_of(stint.quote.usd_per_hour, stretch, stint)
                estimate |= stint.quote.estimate
            charges.append(Charge(since=since, until=until, usd_per_hour=rate))
    return Bill(charges=tuple(_joined(charges)), why_unknown=why, estimate=estimate)


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


def _never_seen(node: str) -> str:
    return f"The node {node} came and went while nobody looked, so its price is not known."


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

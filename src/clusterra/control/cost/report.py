"""Usage as people ask for it: a period, told apart by anything, of all that one may see.

Jobs and waste are kept apart. Waste is nobody's in particular, so it is in no group of
people, accounts or queues; where a group is a place or a time, it says how much was wasted
there. Either way groups, what is left over and waste come to the total, to the millionth.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TypeAlias
from zoneinfo import ZoneInfo

from clusterra.control.cost.dearest import JobSpent, dearest, unpriced
from clusterra.control.cost.usage import Tally, running, tally
from clusterra.control.site import Site
from clusterra.core.cost.books import WASTE, By, Payer, Sums, What
from clusterra.core.cost.dimensions import PLACES, TIMES, Dimension
from clusterra.core.cost.periods import Period, days, months
from clusterra.core.errors import Invalid
from clusterra.ports import Store

MOST_PIECES = 400
"""Days or months that are told apart at once: each is a question to the books."""

REASONS = 3
"""How many reasons why something is not known a group gives."""

LOOKED_THROUGH = 200
"""Jobs without a known cost that reasons are taken from."""


Key: TypeAlias = tuple[str, ...]
"""The values of the dimensions asked for, in their order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """Clusters of which somebody sees all, or one person's part."""

    sites: tuple[Site, ...]
    person: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    key: Key
    work: Tally = field(default_factory=Tally)
    """What jobs came to; with `what` among the dimensions, whatever it was."""

    waste: Tally = field(default_factory=Tally)
    why_unknown: tuple[str, ...] = ()
    job: JobSpent | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    by: tuple[Dimension, ...]
    work: Tally
    waste: Mapping[What, Tally]
    groups: Sequence[Group]
    others: Tally | None = None
    """By job: what all the jobs that are not among the groups came to."""

    why_unknown: tuple[str, ...] = ()

    @property
    def total(self) -> Tally:
        return sum(self.waste.values(), self.work)


async def report(
    reaches: Sequence[Reach],
    period: Period,
    by: tuple[Dimension, ...],
    zone: ZoneInfo,
    *,
    limit: int,
    store: Store,
) -> Report:
    sums = _Summing(by=by)
    pieces = list(_pieces(period, by, zone))
    asked = _asked(by)
    for piece in pieces:
        for reach in reaches:
            found = await tally(
                reach.sites, piece, by=(*asked, By.WHAT), person=reach.person, store=store
            )
            homes = {site.cluster.id: site.workspace for site in reach.sites}
            for key, amount in found.items():
                values = dict(zip((*asked, By.WHAT), key, strict=True))
                sums.add(_values(values, piece, homes), What(key[-1]), amount)
    if set(by) <= TIMES:
        sums.present(pieces)
    whys = await _reasons(reaches, period, by, store) if sums.unknown else {}
    whole = Report(
        by=by,
        # A job that runs is in every piece of time in which it did, and is one.
        work=replace(sums.work, running=_running(reaches, period)),
        waste=sums.waste,
        groups=_sorted(by, (sums.group(key, whys.get(key, ())) for key in sums.keys)),
        why_unknown=tuple(dict.fromkeys(why for each in whys.values() for why in each))[:REASONS],
    )
    return await _by_job(whole, reaches, period, limit, store) if Dimension.JOB in by else whole


def burning(reaches: Iterable[Reach]) -> tuple[int, int]:
    """Return what all that runs costs per hour, and of how many jobs that is not known."""
    found = [
        each.usd_per_hour
        for reach in reaches
        for site in reach.sites
        for each in site.meter.opened()
        if reach.person in (None, each.payer.person)
    ]
    return sum(each or 0 for each in found), found.count(None)


class _Summing:
    def __init__(self, by: tuple[Dimension, ...]) -> None:
        self._by = by
        self.work = Tally()
        self.waste: dict[What, Tally] = {}
        self._groups: defaultdict[Key, Tally] = defaultdict(Tally)
        self._wasted: defaultdict[Key, Tally] = defaultdict(Tally)

    def add(self, values: Mapping[Dimension, str], what: What, amount: Tally) -> None:
        key = tuple(values.get(each, "") for each in self._by)
        if what in WASTE:
            self.waste[what] = self.waste.get(what, Tally()) + amount
        else:
            self.work += amount
        if what not in WASTE or Dimension.WHAT in self._by:
            self._groups[key] += amount
        elif set(self._by) <= PLACES:
            self._wasted[key] += amount

    def present(self, pieces: Iterable[Period]) -> None:
        """Have a group for each piece of time, also where nothing was spent."""
        for piece in pieces:
            self._groups.setdefault((piece.name,) * len(self._by), Tally())

    @property
    def unknown(self) -> int:
        return self.work.unknown

    @property
    def keys(self) -> Sequence[Key]:
        return list(dict.fromkeys([*self._groups, *self._wasted])) if self._by else []

    def group(self, key: Key, why: Sequence[str]) -> Group:
        return Group(
            key=key,
            work=self._groups.get(key, Tally()),
            waste=self._wasted.get(key, Tally()),
            why_unknown=tuple(why),
        )


def _pieces(period: Period, by: Sequence[Dimension], zone: ZoneInfo) -> Iterator[Period]:
    if not TIMES & set(by):
        yield replace(period, name="")
        return
    cut = days if Dimension.DAY in by else months
    found = list(islice(cut(period, zone), MOST_PIECES + 1))
    if len(found) > MOST_PIECES:
        raise Invalid(
            f"That is more than {MOST_PIECES} {'days' if cut is days else 'months'}.",
            hint="Ask for a shorter period, or by month.",
            at="by",
            code="period-too-long",
        )
    yield from found


def _asked(by: Iterable[Dimension]) -> tuple[By, ...]:
    """Return what the books are to tell apart; a workspace is the clusters it has."""
    of_books = {
        Dimension.PERSON: By.PERSON,
        Dimension.ACCOUNT: By.ACCOUNT,
        Dimension.PARTITION: By.PARTITION,
        Dimension.TEMPLATE: By.TEMPLATE,
        Dimension.CLUSTER: By.CLUSTER,
        Dimension.WORKSPACE: By.CLUSTER,
    }
    return tuple(dict.fromkeys(of_books[each] for each in by if each in of_books))


def _values(
    books: Mapping[By, str], piece: Period, homes: Mapping[str, str]
) -> Mapping[Dimension, str]:
    cluster = books.get(By.CLUSTER, "")
    return {
        Dimension.PERSON: books.get(By.PERSON, ""),
        Dimension.ACCOUNT: books.get(By.ACCOUNT, ""),
        Dimension.PARTITION: books.get(By.PARTITION, ""),
        Dimension.TEMPLATE: books.get(By.TEMPLATE, ""),
        Dimension.WHAT: books.get(By.WHAT, ""),
        Dimension.CLUSTER: cluster,
        Dimension.WORKSPACE: homes.get(cluster, ""),
        Dimension.DAY: piece.name,
        Dimension.MONTH: piece.name,
    }


def _sorted(by: Sequence[Dimension], groups: Iterable[Group]) -> Sequence[Group]:
    """Order by time where there is one, and then the most expensive first."""
    places = [place for place, each in enumerate(by) if each in TIMES]

    def rank(group: Group) -> tuple[Key, int, Key]:
        return tuple(group.key[each] for each in places), -group.work.micros, group.key

    return sorted(groups, key=rank)


def _running(reaches: Iterable[Reach], period: Period) -> int:
    return sum(
        1
        for reach in reaches
        for site in reach.sites
        for _ in running(site, period.since, period.until, reach.person)
    )


async def _reasons(
    reaches: Iterable[Reach], period: Period, by: Sequence[Dimension], store: Store
) -> Mapping[Key, Sequence[str]]:
    """Return a few reasons why something is not known, for each group but those of a time."""
    found: defaultdict[Key, dict[str, None]] = defaultdict(dict)
    for reach in reaches:
        homes = {site.cluster.id: site.workspace for site in reach.sites}
        for job in await unpriced(
            reach.sites, period, person=reach.person, limit=LOOKED_THROUGH, store=store
        ):
            values = _values(_paid_by(job.cluster, job.payer), period, homes)
            found[tuple(values.get(each, "") for each in by)][job.why_unknown] = None
    return {key: list(whys)[:REASONS] for key, whys in found.items()}


def _paid_by(cluster: str, payer: Payer) -> Mapping[By, str]:
    return {
        By.CLUSTER: cluster,
        By.PERSON: payer.person,
        By.ACCOUNT: payer.account,
        By.PARTITION: payer.partition,
        By.TEMPLATE: payer.template,
        By.WHAT: What.JOB,
    }


async def _by_job(
    whole: Report, reaches: Iterable[Reach], period: Period, limit: int, store: Store
) -> Report:
    jobs: list[JobSpent] = []
    for reach in reaches:
        jobs += await dearest(reach.sites, period, person=reach.person, limit=limit, store=store)
    jobs = sorted(jobs, key=lambda job: -job.micros)[:limit]
    groups = [
        Group(
            key=(job.label,),
            work=_of_job(job),
            why_unknown=(job.why_unknown,) if job.why_unknown else (),
            job=job,
        )
        for job in jobs
    ]
    return replace(whole, groups=groups, others=_rest(whole.work, [each.work for each in groups]))


def _of_job(job: JobSpent) -> Tally:
    unknown = int(bool(job.why_unknown))
    over = not job.running
    return Tally(
        booked=Sums(micros=job.booked, jobs=int(over), unknown=unknown if over else 0),
        pending=Sums(micros=job.pending, unknown=0 if over else unknown),
        running=int(job.running),
    )


def _rest(whole: Tally, shown: Iterable[Tally]) -> Tally:
    known = sum(shown, Tally())
    return Tally(
        booked=Sums(
            micros=whole.booked.micros - known.booked.micros,
            jobs=max(whole.booked.jobs - known.booked.jobs, 0),
            unknown=max(whole.unknown - known.unknown, 0),
        ),
        pending=Sums(micros=whole.pending.micros - known.pending.micros),
        running=whole.running - known.running,
    )

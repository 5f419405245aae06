"""What was spent in a period: what is in the books, and what is still running, by anything.

Every screen, statement and quota asks here, so they cannot disagree. Both parts are kept
apart, because the first never changes any more and the second does by the second.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from clusterra.control.site import Site
from clusterra.core.cost.books import NOTHING, By, Payer, Spending, Sums, What, within
from clusterra.core.cost.open import Open
from clusterra.core.cost.periods import Period
from clusterra.ports import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    booked: Sums = NOTHING
    pending: Sums = NOTHING
    """Of what runs: as much of it as falls into the period."""

    running: int = 0
    """How many jobs that is."""

    @property
    def micros(self) -> int:
        return self.booked.micros + self.pending.micros

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            booked=self.booked + other.booked,
            pending=self.pending + other.pending,
            running=self.running + other.running,
        )

    @property
    def unknown(self) -> int:
        return self.booked.unknown + self.pending.unknown


Tallies = Mapping[tuple[str, ...], Tally]
"""By the values of what was asked to be told apart."""


async def tally(
    sites: Sequence[Site],
    period: Period,
    *,
    by: tuple[By, ...] = (),
    person: str | None = None,
    what: frozenset[What] = frozenset(What),
    store: Store,
) -> Tallies:
    """Sum up what was spent on some clusters in a period."""
    query = Spending(
        clusters=tuple(site.cluster.id for site in sites),
        since=period.since,
        until=period.until,
        by=by,
        person=person,
        what=what,
    )
    found = {each.key: Tally(booked=each.sums) for each in await store.spent(query)}
    for key, more in _pending(sites, query):
        found[key] = found.get(key, Tally()) + more
    return dict(sorted(found.items()))


async def total(
    sites: Sequence[Site],
    period: Period,
    *,
    person: str | None = None,
    what: frozenset[What] = frozenset(What),
    store: Store,
) -> Tally:
    """Sum up without telling anything apart."""
    return (await tally(sites, period, person=person, what=what, store=store)).get((), Tally())


def running(site: Site, since: datetime, until: datetime, person: str | None) -> Iterator[Open]:
    """Yield what runs now and ran in a period; of somebody, if they are named."""
    for each in site.meter.opened():
        began = each.job.started_at
        if (
            person in (None, each.payer.person)
            and began is not None
            and began < until
            and each.now >= since
        ):
            yield each


def _pending(sites: Iterable[Site], query: Spending) -> Iterable[tuple[tuple[str, ...], Tally]]:
    since, until = query.since, query.until
    for site in sites:
        id = site.cluster.id
        if What.JOB in query.what:
            for each in running(site, since, until, query.person):
                sums = within(each.entry(), since, until)
                key = key_of(query.by, id, each.payer, What.JOB)
                yield key, Tally(pending=sums, running=1)
        if query.person in (None, ""):
            for what, sums in site.wasting.pending(since, until).items():
                if what in query.what:
                    yield key_of(query.by, id, Payer(), what), Tally(pending=sums)


def key_of(by: Iterable[By], cluster: str, payer: Payer, what: What) -> tuple[str, ...]:
    """Return the values of what is to be told apart."""
    values = {
        By.CLUSTER: cluster,
        By.PERSON: payer.person,
        By.ACCOUNT: payer.account,
        By.PARTITION: payer.partition,
        By.TEMPLATE: payer.template,
        By.WHAT: what.value,
    }
    return tuple(values[each] for each in by)

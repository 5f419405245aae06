"""A month of somebody, as a page that can be filed: what it came to, and what it was made of.

All its sums are made of the same lines, one for each person, cluster, account and day, so
that whichever way the page is read it comes to the same amount.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from zoneinfo import ZoneInfo

from clusterra.control.cost.dearest import JobSpent, dearest, still_running, unpriced
from clusterra.control.cost.known_prices import KnownPrices, known_prices
from clusterra.control.cost.usage import Tally, tally
from clusterra.control.site import Site
from clusterra.core.cost.books import WASTE, By, What
from clusterra.core.cost.periods import Period, days
from clusterra.core.words import count, listed
from clusterra.ports import Store

DEAREST = 10
UNKNOWN = 20
"""Jobs that a statement names."""

_BY = (By.PERSON, By.CLUSTER, By.ACCOUNT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    person: str
    cluster: str
    account: str
    day: str
    tally: Tally


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One person's."""

    person: str
    lines: Sequence[Line] = ()
    dearest: Sequence[JobSpent] = ()
    unknown: Sequence[JobSpent] = ()
    running: Sequence[JobSpent] = ()
    """What is still going on of what ran in this month."""

    @property
    def total(self) -> Tally:
        # A job that runs is in a line of every day on which it did.
        whole = sum((each.tally for each in self.lines), Tally())
        return replace(whole, running=len(self.running))

    def by(self, name: Callable[[Line], str]) -> Mapping[str, Tally]:
        found: defaultdict[str, Tally] = defaultdict(Tally)
        for each in self.lines:
            found[name(each)] += each.tally
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    month: Period
    made_at: datetime
    days: Sequence[str]
    parts: Sequence[Part]
    """The one who spent most, first."""

    why_provisional: Sequence[str]
    """What can still change it; nothing if it is final."""

    prices: KnownPrices
    waste: Mapping[What, Tally] = field(default_factory=dict)
    """The workspace's; for those who run it."""

    @property
    def work(self) -> Tally:
        return sum((each.total for each in self.parts), Tally())

    @property
    def wasted(self) -> Tally:
        return sum(self.waste.values(), Tally())


async def make_statement(
    sites: Sequence[Site],
    month: Period,
    zone: ZoneInfo,
    *,
    person: str | None,
    with_waste: bool,
    now: datetime,
    store: Store,
) -> Statement:
    """Write the statement of a month, of everybody or of one person."""
    dates = list(days(month, zone))
    lines = [line for day in dates for line in await _lines(sites, day, person, store)]
    people = {each.person for each in lines} | ({person} if person is not None else set())
    parts = [
        await _part(sites, month, each, [line for line in lines if line.person == each], store)
        for each in people
    ]
    waste = await tally(sites, month, by=(By.WHAT,), what=WASTE, store=store) if with_waste else {}
    return Statement(
        month=month,
        made_at=now,
        days=[day.name for day in dates],
        parts=sorted(parts, key=lambda part: (-part.total.micros, part.person)),
        why_provisional=_open_ends(sites, month, parts, now),
        prices=known_prices(sites, month.since, month.until),
        waste={What(key[0]): amount for key, amount in waste.items()},
    )


async def _lines(
    sites: Sequence[Site], day: Period, person: str | None, store: Store
) -> Iterable[Line]:
    found = await tally(sites, day, by=_BY, person=person, what=frozenset({What.JOB}), store=store)
    return [
        Line(person=who, cluster=cluster, account=account, day=day.name, tally=amount)
        for (who, cluster, account), amount in found.items()
    ]


async def _part(
    sites: Sequence[Site], month: Period, person: str, lines: Sequence[Line], store: Store
) -> Part:
    best = await dearest(sites, month, person=person, limit=DEAREST, store=store)
    lacks = any(line.tally.unknown for line in lines)
    unknown = (
        await unpriced(sites, month, person=person, limit=UNKNOWN, store=store) if lacks else ()
    )
    return Part(
        person=person,
        lines=lines,
        dearest=best,
        unknown=unknown,
        running=still_running(sites, month, person=person),
    )


def _open_ends(
    sites: Iterable[Site], month: Period, parts: Iterable[Part], now: datetime
) -> Sequence[str]:
    """Say what can still change it, in whole sentences."""
    whys: list[str] = []
    if now < month.until:
        whys.append(f"{month.name} is not over.")
    live = sum(len(part.running) for part in parts)
    if live:
        verb = "runs" if live == 1 else "run"
        whys.append(f"{count(live, 'job')} that ran in it still {verb}.")
    unseen = [site.cluster.name for site in sites if site.sky.why_not]
    if unseen:
        whys.append(f"{listed(unseen)} cannot be seen, so what ended there is not known.")
    return whys

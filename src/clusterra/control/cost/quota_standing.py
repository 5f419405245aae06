"""Work out how people stand against their quotas, from the books and what runs.

What runs is gone through once a second, however many jobs are submitted in it. It is what
`usage` says is pending, without all that a quota does not need.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from clusterra.control.site import Site
from clusterra.core.cost.books import By, Spending
from clusterra.core.cost.charges import accrued
from clusterra.core.cost.going import Running
from clusterra.core.cost.open import Open
from clusterra.core.cost.periods import Period, day_of, month_of, zone
from clusterra.core.cost.quota import WORKSPACE, Quotas
from clusterra.core.cost.quota_standing import Figures, Standing
from clusterra.ports import Store


@dataclass(slots=True)
class Live:
    """What somebody runs: in the month, in the day, and per hour."""

    month: int = 0
    day: int = 0
    month_to_come: int = 0
    day_to_come: int = 0
    burn: int = 0
    unpriced: int = 0

    def add(self, other: "Live") -> None:
        self.month += other.month
        self.day += other.day
        self.month_to_come += other.month_to_come
        self.day_to_come += other.day_to_come
        self.burn += other.burn
        self.unpriced += other.unpriced


@dataclass(slots=True, kw_only=True)
class Standings:
    """Asked about all workspaces; remembers what ran in the second it was last asked."""

    store: Store
    _seen: dict[str, tuple[Sequence[Open], Period, Period, Mapping[str, Live]]] = field(
        default_factory=dict
    )
    """By cluster: what was gone through, for which month and day, and what it came to."""

    async def of(
        self,
        sites: Sequence[Site],
        quotas: Quotas,
        whose: str,
        *,
        now: datetime,
        brief: bool = False,
    ) -> Standing:
        """Return how a person stands, or for `WORKSPACE` all people together, waste included.

        With `brief` the books are asked only about what is limited.
        """
        month, day = periods(quotas, now)
        quota = quotas.of(whose)
        person = None if whose == WORKSPACE else whose

        async def booked(period: Period, limit: int | None) -> int:
            if brief and limit is None:
                return 0
            return sum((await self._booked(sites, period, person=person)).values())

        live = self._live(sites, month, day)
        return _standing(
            quotas,
            whose,
            (month, await booked(month, quota.month)),
            (day, await booked(day, quota.day)),
            _together(live.values()) if person is None else live.get(whose, Live()),
            now,
        )

    async def of_all(
        self,
        sites: Sequence[Site],
        quotas: Quotas,
        *,
        now: datetime,
        people: Collection[str] = (),
    ) -> Mapping[str, Standing]:
        """Return how everybody stands who spent, runs or is named, and how the workspace does."""
        month, day = periods(quotas, now)
        months = await self._booked(sites, month, by=(By.PERSON,))
        days = await self._booked(sites, day, by=(By.PERSON,))
        live = self._live(sites, month, day)
        # Waste is put down to nobody: the empty name, which is the workspace's here.
        names = {*months, *live, *people} - {WORKSPACE}
        found = {
            person: _standing(
                quotas,
                person,
                (month, months.get(person, 0)),
                (day, days.get(person, 0)),
                live.get(person, Live()),
                now,
            )
            for person in sorted(names)
        }
        found[WORKSPACE] = _standing(
            quotas,
            WORKSPACE,
            (month, sum(months.values())),
            (day, sum(days.values())),
            _together(live.values()),
            now,
        )
        return found

    async def _booked(
        self,
        sites: Sequence[Site],
        period: Period,
        *,
        by: tuple[By, ...] = (),
        person: str | None = None,
    ) -> Mapping[str, int]:
        query = Spending(
            clusters=tuple(site.cluster.id for site in sites),
            since=period.since,
            until=period.until,
            by=by,
            person=person,
        )
        found = await self.store.spent(query)
        return {"".join(each.key): each.sums.micros for each in found}

    def _live(self, sites: Sequence[Site], month: Period, day: Period) -> Mapping[str, Live]:
        """Return what runs, by person; what is wasted of what is not in the books is nobody's."""
        together: defaultdict[str, Live] = defaultdict(Live)
        for site in sites:
            opened, known = site.meter.opened(), self._seen.get(site.cluster.id)
            if known is None or known[0] is not opened or known[1:3] != (month, day):
                known = (opened, month, day, _by_person(opened, month, day))
                self._seen[site.cluster.id] = known
            for person, live in known[3].items():
                together[person].add(live)
            wasted = (
                sum(each.micros for each in site.wasting.pending(when.since, when.until).values())
                for when in (month, day)
            )
            together[WORKSPACE].add(Live(*wasted))
        return together


def periods(quotas: Quotas, now: datetime) -> tuple[Period, Period]:
    """Return the month and the day that it is where a workspace counts them."""
    where = zone(quotas.zone)
    return month_of(now, where), day_of(now, where)


def running(sites: Iterable[Site]) -> Sequence[Running]:
    """Return every job that runs in a workspace."""
    return [
        Running(cluster=site.cluster.id, open=each)
        for site in sites
        for each in site.meter.opened()
    ]


def _by_person(opened: Iterable[Open], month: Period, day: Period) -> Mapping[str, Live]:
    found: defaultdict[str, Live] = defaultdict(Live)
    for each in opened:
        live, charges = found[each.payer.person], each.bill.charges
        if charges and not each.bill.why_unknown:
            # Whatever came together before a period is taken off, so periods add up exactly.
            whole, since = accrued(charges), charges[0].since
            live.month += whole - (accrued(charges, month.since) if since < month.since else 0)
            live.day += whole - (accrued(charges, day.since) if since < day.since else 0)
        if each.usd_per_hour is None:
            live.unpriced += 1
        elif each.usd_per_hour:
            live.burn += each.usd_per_hour
            live.month_to_come += each.to_come(month.until)
            live.day_to_come += each.to_come(day.until)
    return found


def _together(lives: Iterable[Live]) -> Live:
    together = Live()
    for each in lives:
        together.add(each)
    return together


def _standing(
    quotas: Quotas,
    whose: str,
    month: tuple[Period, int],
    day: tuple[Period, int],
    live: Live,
    now: datetime,
) -> Standing:
    (this_month, booked_month), (today, booked_today) = month, day
    return Standing(
        whose=whose,
        quota=quotas.of(whose),
        month=Figures(
            period=this_month,
            booked=booked_month,
            pending=live.month,
            to_come=live.month_to_come,
        ),
        day=Figures(period=today, booked=booked_today, pending=live.day, to_come=live.day_to_come),
        now=now,
        burn=live.burn,
        unpriced=live.unpriced,
    )

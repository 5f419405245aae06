"""Work out how people stand against their quotas, from the books and what runs and waits."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from clusterra.control.site import Site
from clusterra.control.usage import Tally, tally, total
from clusterra.core.cost.books import By
from clusterra.core.cost.open import Open
from clusterra.core.cost.periods import Period, day_of, month_of, zone
from clusterra.core.cost.quota import WORKSPACE, Quotas
from clusterra.core.cost.quota_standing import Figures, Standing
from clusterra.ports import Store


async def stand(
    sites: Sequence[Site], quotas: Quotas, whose: str, *, now: datetime, store: Store
) -> Standing:
    """Return how a person stands, or for `WORKSPACE` all people together, waste included."""
    month, day = periods(quotas, now)
    person = None if whose == WORKSPACE else whose
    return _standing(
        quotas,
        whose,
        (month, await total(sites, month, person=person, store=store)),
        (day, await total(sites, day, person=person, store=store)),
        [each for each in _opened(sites) if person in (None, each.payer.person)],
        now,
    )


async def stand_all(
    sites: Sequence[Site], quotas: Quotas, *, now: datetime, store: Store
) -> Mapping[str, Standing]:
    """Return how everybody stands who spent anything or runs anything, and the workspace."""
    month, day = periods(quotas, now)
    months = await tally(sites, month, by=(By.PERSON,), store=store)
    days = await tally(sites, day, by=(By.PERSON,), store=store)
    by_person: defaultdict[str, list[Open]] = defaultdict(list)
    for each in _opened(sites):
        by_person[each.payer.person].append(each)
    # Waste is put down to nobody: the empty name, which is the workspace's here.
    people = ({name for (name,) in months} | by_person.keys()) - {WORKSPACE}
    found = {
        person: _standing(
            quotas,
            person,
            (month, months.get((person,), Tally())),
            (day, days.get((person,), Tally())),
            by_person[person],
            now,
        )
        for person in sorted(people)
    }
    found[WORKSPACE] = _standing(
        quotas,
        WORKSPACE,
        (month, sum(months.values(), Tally())),
        (day, sum(days.values(), Tally())),
        [each for some in by_person.values() for each in some],
        now,
    )
    return found


def periods(quotas: Quotas, now: datetime) -> tuple[Period, Period]:
    """Return the month and the day that it is where a workspace counts them."""
    where = zone(quotas.zone)
    return month_of(now, where), day_of(now, where)


def _opened(sites: Iterable[Site]) -> Iterable[Open]:
    for site in sites:
        yield from site.meter.opened()


def _standing(
    quotas: Quotas,
    whose: str,
    month: tuple[Period, Tally],
    day: tuple[Period, Tally],
    running: Sequence[Open],
    now: datetime,
) -> Standing:
    return Standing(
        whose=whose,
        quota=quotas.of(whose),
        month=_figures(*month, running),
        day=_figures(*day, running),
        now=now,
        burn=sum(each.usd_per_hour or 0 for each in running),
        unpriced=sum(each.usd_per_hour is None for each in running),
    )


def _figures(period: Period, spent: Tally, running: Sequence[Open]) -> Figures:
    return Figures(
        period=period,
        booked=spent.booked.micros,
        pending=spent.pending.micros,
        to_come=sum(each.to_come(period.until) for each in running),
    )

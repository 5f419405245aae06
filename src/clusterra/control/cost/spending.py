"""What somebody spends: now, today and this month, wherever they are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from zoneinfo import ZoneInfo

from clusterra.control.cost.report import Reach, burning
from clusterra.control.cost.usage import Tally, total
from clusterra.control.site import Site
from clusterra.core.cost.periods import Period, day_of, month_of
from clusterra.ports import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Spends:
    """In one workspace, or in all of them together."""

    month: Tally = field(default_factory=Tally)
    today: Tally = field(default_factory=Tally)
    pending: int = 0
    """What the jobs that run have come to, whenever they began."""

    running: int = 0
    usd_per_hour: int = 0
    unknown_rates: int = 0
    """Of how many running jobs it is not known what they cost."""

    def __add__(self, other: "Spends") -> "Spends":
        return Spends(
            month=self.month + other.month,
            today=self.today + other.today,
            pending=self.pending + other.pending,
            running=self.running + other.running,
            usd_per_hour=self.usd_per_hour + other.usd_per_hour,
            unknown_rates=self.unknown_rates + other.unknown_rates,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    month: Period
    day: Period
    workspaces: Mapping[str, Spends]

    @property
    def all(self) -> Spends:
        return sum(self.workspaces.values(), Spends())


async def spending(
    sites: Mapping[str, Sequence[Site]],
    logins: Mapping[str, str],
    *,
    now: datetime,
    zone: ZoneInfo,
    store: Store,
) -> Spending:
    """Say what one spends in each workspace; `logins` has one's Linux user by cluster."""
    month, day = month_of(now, zone), day_of(now, zone)
    found: dict[str, Spends] = {}
    for workspace, here in sites.items():
        spends = Spends()
        for site in here:
            person = site.meter.person_of(logins[site.cluster.id])
            spends += await _on(site, person, month, day, store)
        found[workspace] = spends
    return Spending(month=month, day=day, workspaces=found)


async def _on(site: Site, person: str, month: Period, day: Period, store: Store) -> Spends:
    mine = [each for each in site.meter.opened() if each.payer.person == person]
    rate, unknown = burning([Reach(sites=(site,), person=person)])
    return Spends(
        month=await total([site], month, person=person, store=store),
        today=await total([site], day, person=person, store=store),
        pending=sum(each.bill.micros or 0 for each in mine),
        running=len(mine),
        usd_per_hour=rate,
        unknown_rates=unknown,
    )

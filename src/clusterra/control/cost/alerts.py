"""Tell what about money is unusual: days, waste, and jobs that cost more than was estimated.

The books are asked once a minute at most, and about the days before once a day.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from clusterra.control.cost.quota_standing import periods
from clusterra.control.cost.usage import total
from clusterra.control.site import Site
from clusterra.core.cost.alerts import DAYS_BEFORE, LEAST, is_unusual, over_estimate, usual
from clusterra.core.cost.books import WASTE, By, Spending
from clusterra.core.cost.charges import between
from clusterra.core.cost.open import Open
from clusterra.core.cost.periods import Period, day_of, zone
from clusterra.core.cost.quota import WORKSPACE, Quotas, subject_of
from clusterra.core.cost.quota_standing import Standing
from clusterra.core.cost.settle import METER
from clusterra.core.events.catalogue.costs import JobCostOverEstimate
from clusterra.core.events.catalogue.fleet import FleetCostWasteHigh
from clusterra.core.events.catalogue.people import UserCostUnusual
from clusterra.core.events.derive import about, correlation
from clusterra.core.events.event import Draft
from clusterra.core.events.fact import Fact
from clusterra.core.ids import uuid8
from clusterra.ports import Clock, Store

EVERY = timedelta(minutes=1)

Days = Mapping[str, Sequence[int]]
"""By person, and for `WORKSPACE` of all: what each of the days before came to."""


@dataclass(slots=True, kw_only=True)
class Alerts:
    store: Store
    clock: Clock
    _looked_at: dict[str, datetime] = field(default_factory=dict)
    _before: dict[str, tuple[str, Days]] = field(default_factory=dict)
    """By workspace: the day, and what was spent on those before it."""

    def are_due(self, workspace: str) -> bool:
        """Say whether it is time to look at a workspace again."""
        last = self._looked_at.get(workspace)
        return last is None or abs(self.clock.now() - last) >= EVERY

    async def of_workspace(
        self,
        workspace: str,
        quotas: Quotas,
        sites: Sequence[Site],
        standings: Mapping[str, Standing],
    ) -> list[Draft]:
        """Return what is to be told about today."""
        now = self._looked_at[workspace] = self.clock.now()
        _, day = periods(quotas, now)
        found = await self._unusual(workspace, quotas, sites, standings)
        if quotas.waste_per_day is not None:
            wasted = await total(sites, day, what=WASTE, store=self.store)
            if wasted.micros > quotas.waste_per_day:
                fact = FleetCostWasteHigh(
                    period=day.name, micros=wasted.micros, limit_micros=quotas.waste_per_day
                )
                once = (workspace, "waste_high", day.name, quotas.waste_per_day)
                found.append(_draft(fact, once, now))
        return found

    def of_cluster(self, site: Site, told: Collection[str]) -> list[Draft]:
        """Return what is to be told about the running jobs of a cluster, and was not yet."""
        return [
            self._too_dear(id, each, cost)
            for each in site.meter.opened()
            if (cost := over_estimate(each)) is not None
            and (id := _once(site.cluster.id, each)) not in told
        ]

    async def _unusual(
        self,
        workspace: str,
        quotas: Quotas,
        sites: Sequence[Site],
        standings: Mapping[str, Standing],
    ) -> list[Draft]:
        dear = [each for each in standings.values() if each.day.spent >= LEAST]
        if not dear:
            return []
        day = dear[0].day.period
        before = await self._days_before(workspace, quotas, sites, day)
        return [
            _draft(
                UserCostUnusual(
                    user=each.whose,
                    period=day.name,
                    micros=each.day.spent,
                    usual_micros=usually or 0,
                    workspace=workspace,
                ),
                (workspace, "unusual", each.whose, day.name),
                each.now,
                whose=each.whose,
            )
            for each in dear
            if is_unusual(each.day.spent, usually := usual(before.get(each.whose, ())))
        ]

    async def _days_before(
        self, workspace: str, quotas: Quotas, sites: Sequence[Site], day: Period
    ) -> Days:
        known = self._before.get(workspace)
        if known is not None and known[0] == day.name:
            return known[1]
        found: defaultdict[str, list[int]] = defaultdict(list)
        where, each = zone(quotas.zone), day
        for _ in range(DAYS_BEFORE):
            each = day_of(each.since - timedelta(seconds=1), where)
            for whose, micros in (await self._spent(sites, each)).items():
                found[whose].append(micros)
        self._before[workspace] = (day.name, found)
        return found

    async def _spent(self, sites: Sequence[Site], day: Period) -> Mapping[str, int]:
        """Return what everybody spent on a day that is over, and all together."""
        query = Spending(
            clusters=tuple(site.cluster.id for site in sites),
            since=day.since,
            until=day.until,
            by=(By.PERSON,),
        )
        spent: defaultdict[str, int] = defaultdict(int)
        for booked in await self.store.spent(query):
            spent[booked.key[0]] += booked.sums.micros
        for site in sites:
            for each in site.meter.opened():
                charges = each.bill.charges
                if charges and charges[0].since < day.until and not each.bill.why_unknown:
                    spent[each.payer.person] += between(charges, day.since, day.until)
        # Waste is put down to nobody: the empty name, which is the workspace's here.
        return {**spent, WORKSPACE: sum(spent.values())}

    def _too_dear(self, id: str, each: Open, cost: int) -> Draft:
        job = each.job
        fact = JobCostOverEstimate(
            **about(job, JobCostOverEstimate),
            restarts=job.restarts,
            person=each.payer.person,
            usd_per_hour_micros=each.usd_per_hour,
            estimate=each.bill.estimate,
            estimated_micros=job.estimated_micros or 0,
            cost_micros=cost,
        )
        return Draft(
            id=id,
            fact=fact,
            at=self.clock.now(),
            actor=METER,
            subject=f"job/{job.id}",
            correlation=correlation(job),
        )


def _once(cluster: str, each: Open) -> str:
    """Return the id of what is told once of a run."""
    return uuid8(cluster, "job", *each.job.key, each.job.restarts, "over_estimate")


def _draft(fact: Fact, once: Iterable[object], at: datetime, *, whose: str = WORKSPACE) -> Draft:
    return Draft(id=uuid8(*once), fact=fact, at=at, actor=METER, subject=subject_of(whose))

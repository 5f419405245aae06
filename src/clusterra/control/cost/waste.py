"""Put down, hour by hour, what machines cost without working.

An hour is settled once, when it is over and everything that ended in it is known: after a time
in which nobody looked, that is when accounting has been read. What has not been settled yet is
worked out whenever somebody asks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from clusterra.control.cost.meter import Meter
from clusterra.control.observed import OBSERVED, Observed
from clusterra.core.change import Change, Kind, Record
from clusterra.core.cost.bill import Stretch, stretches
from clusterra.core.cost.books import Sums, What
from clusterra.core.cost.settle import METER
from clusterra.core.cost.waste import Waste, by_quarters, entries
from clusterra.core.errors import Conflict
from clusterra.core.events.catalogue.fleet import FleetCostWasted, WasteFact
from clusterra.core.events.event import Draft
from clusterra.core.ids import uuid8
from clusterra.core.jobs.job import Job
from clusterra.core.jobs.query import STATE_WORDS, Op, Query, Term
from clusterra.ports import Clock, Store

HOUR = timedelta(hours=1)
SETTLED_AFTER = timedelta(minutes=3)
"""How long after an hour it is put down: what ended in it has been seen by then."""

PAGE = 1000

METERED: Kind[datetime | None] = Kind("metered", datetime | None)
"""By cluster: up to when waste is in the books."""


@dataclass(slots=True, kw_only=True)
class Wasting:
    meter: Meter
    store: Store
    clock: Clock
    runs: list[Stretch] = field(default_factory=list)
    """What has ended since the last hour that is in the books."""

    _metered: Record[datetime | None] | None = None
    _pending: Sequence[Waste] = ()
    _pending_at: datetime | None = None

    def ended(self, run: Job) -> None:
        """Take note of a run that is over."""
        if run.ended_at is not None:
            self.runs += stretches(replace(run, billed_until=None), run.ended_at)
            self._pending_at = None

    async def settle(self) -> bool:
        """Put down the hours that are over; say whether there are more."""
        record = await self._loaded()
        since, now = record.value, self.clock.now()
        if since is None:
            # What was before the first look is nobody's.
            await self._write(record, _hour_of(now), ())
            return False
        observed = await self.store.get(OBSERVED, self.meter.cluster, default=Observed())
        until = since + HOUR
        seen_until = observed.value.until
        if now < until + SETTLED_AFTER or seen_until is None or seen_until < until:
            return False
        quarters = by_quarters(self.meter.stints, self._all_runs(until), since, until)
        await self._write(record, until, _told(self.meter.cluster, quarters, since, until))
        return True

    def pending(self, since: datetime, until: datetime) -> Mapping[What, Sums]:
        """Return what is not in the books yet of what was wasted in a period."""
        found: dict[What, Sums] = {}
        for each in self._unsettled():
            if since <= each.since < until:
                for what, micros in each.micros.items():
                    found[what] = found.get(what, Sums()) + Sums(micros=micros)
        return found

    def _unsettled(self) -> Sequence[Waste]:
        now = self.clock.now().replace(microsecond=0)
        begun = self._metered.value if self._metered else None
        if begun is None:
            return ()
        if self._pending_at != now:
            self._pending = by_quarters(self.meter.stints, self._all_runs(now), begun, now)
            self._pending_at = now
        return self._pending

    def _all_runs(self, until: datetime) -> Sequence[Stretch]:
        live = (replace(job, billed_until=None) for job in self.meter.running.values())
        return [*self.runs, *(each for job in live for each in stretches(job, until))]

    async def _write(
        self, record: Record[datetime | None], until: datetime, told: Sequence[Draft]
    ) -> None:
        put = replace(record, value=until)
        try:
            await self.store.commit(self.meter.cluster, Change(puts=[put], events=told))
        except Conflict:
            self._metered = None  # another server has put it down
            return
        self._metered = replace(put, version=put.version + 1)
        self.runs = [each for each in self.runs if each.until > until]
        self._pending_at = None

    async def _loaded(self) -> Record[datetime | None]:
        if self._metered is None:
            await self.meter.load()
            record = await self.store.get(METERED, self.meter.cluster, default=None)
            if record.value is not None:
                self.runs = await self._ended_since(record.value)
            self._metered = record
        return self._metered

    async def _ended_since(self, moment: datetime) -> list[Stretch]:
        over = Term(field="state", op=Op.IS, values=STATE_WORDS["ended"])
        late = Term(field="ended", op=Op.GT, values=(int(moment.timestamp()),))
        query = Query(terms=(over, late), limit=PAGE)
        found: list[Stretch] = []
        while True:
            page = await self.store.jobs(self.meter.cluster, query)
            for job in page.jobs:
                found += stretches(replace(job, billed_until=None), job.ended_at or moment)
            if page.next is None:
                return found
            query = replace(query, after=page.next)


def _hour_of(moment: datetime) -> datetime:
    return moment.replace(minute=0, second=0, microsecond=0)


def _told(
    cluster: str, quarters: Sequence[Waste], since: datetime, until: datetime
) -> Sequence[Draft]:
    """Return the event of an hour; of one in which nothing was wasted there is none."""
    causes = [
        WasteFact(
            cause=what.value,
            micros=sum(each.micros.get(what, 0) for each in quarters),
            node_seconds=sum(each.seconds.get(what, 0) for each in quarters),
        )
        for what in What
    ]
    unknown = frozenset[str]().union(*(each.unknown for each in quarters))
    fact = FleetCostWasted(
        since=since,
        until=until,
        micros=sum(each.micros for each in causes),
        causes=tuple(each for each in causes if each.micros),
        unknown_nodes=tuple(sorted(unknown)),
    )
    if not fact.causes and not unknown:
        return ()
    return [
        Draft(
            id=uuid8(cluster, "waste", since.isoformat()),
            fact=fact,
            at=until,
            actor=METER,
            subject="fleet",
            entries=entries(quarters),
        )
    ]

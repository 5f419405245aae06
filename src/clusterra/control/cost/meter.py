"""Know at every moment what each machine and each running job of a cluster costs.

The history of the nodes, with their prices, is kept as they are looked at; jobs are priced by
it, however late. Nothing is added up over time: what a running job has come to is worked
out anew, from when it began, so a server that was away for an hour has missed nothing.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from clusterra.control.observed import OBSERVED, Observed
from clusterra.core.change import Change, Kind, Record
from clusterra.core.clusters import Node
from clusterra.core.cost.bill import Bill, Stretch, bill, first_of, stretches, up_to
from clusterra.core.cost.books import Payer
from clusterra.core.cost.open import Open
from clusterra.core.cost.presence import Presence
from clusterra.core.cost.prices import Book, Quote, Rates, heard
from clusterra.core.cost.settle import Pricing
from clusterra.core.cost.stints import STINTS, Stints, at, followed, forgotten
from clusterra.core.errors import Conflict
from clusterra.core.hosts import expand
from clusterra.core.jobs.job import Job, JobState
from clusterra.core.scaling.edge import EdgeReport, Offering
from clusterra.core.scaling.shapes import Purchase, Shape
from clusterra.core.seen import Seen, Sight
from clusterra.ports import Clock, Store

KEPT = timedelta(days=35)
"""How long the history of a node is kept after it: longer than accounting is read back."""

RATES: Kind[Rates | None] = Kind("rates", Rates | None)
"""By cluster: what an admin says its machines cost."""


async def _nobody() -> None:
    """Look at the nodes, where nobody does."""


@dataclass(slots=True, kw_only=True)
class Meter:
    cluster: str
    store: Store
    clock: Clock
    book: Book
    """What is known about prices; the admin's rates and the edge's prices are put in here."""

    shapes: Mapping[str, Shape] = field(default_factory=dict)
    running: Mapping[int, Job] = field(default_factory=dict)
    """Every job that runs or is suspended, as last observed: the recorder's."""

    begun_at: datetime | None = None
    """When all its machines were started anew, where that is known: none is older."""

    person_of: Callable[[str], str] = str
    """Who is behind a Linux user."""

    look: Callable[[], Awaitable[object]] = _nobody
    """Look at the nodes now; what is seen comes here by `note`."""

    looked_at: datetime | None = None
    stints: dict[str, Stints] = field(default_factory=dict)
    """By node."""

    _records: dict[str, Record[Stints]] | None = None
    _opened: Sequence[Open] = ()
    _opened_at: datetime | None = None
    _last: dict[int, Open] = field(default_factory=dict)
    """Each running job as it was last priced: while nothing changes, only time goes on."""

    # --- the history of the nodes

    async def note(
        self,
        nodes: Sequence[Node],
        *,
        report: Sight[EdgeReport],
        offerings: Sight[tuple[Offering, ...]],
        purchase: Purchase,
        at: datetime,
    ) -> None:
        """Take in how the nodes are; write what is different from before."""
        await self.load()
        await self._reread_rates()
        now = at.replace(microsecond=0)
        told = report.value if isinstance(report, Seen) else None
        if told is not None and isinstance(offerings, Seen):
            prices = heard(self.book.edge, offerings.value, told.machines or (), now)
            self.book = replace(self.book, edge=prices)
        present = Presence(
            nodes=nodes,
            report=told,
            shapes=self.shapes,
            book=self.book,
            purchase=purchase,
            now=now,
        )
        last_seen = await self._last_seen() if self.looked_at is None else None
        changed = followed(
            self.stints,
            present.stints(self.stints),
            now,
            last_seen=last_seen,
            anew=_is_between(self.begun_at, last_seen, now),
        )
        self.looked_at = at
        if changed := {**self._old(now), **changed}:
            await self._write(changed)

    async def _last_seen(self) -> datetime | None:
        """Return when this cluster was last looked at before this server was started."""
        observed = await self.store.get(OBSERVED, self.cluster, default=Observed())
        until = observed.value.until
        return until.replace(microsecond=0) if until else None

    async def load(self) -> None:
        if self._records is None:
            found = await self.store.list(STINTS, f"{self.cluster}/")
            self._records = {each.id.partition("/")[2]: each for each in found}
            self.stints = {name: each.value for name, each in self._records.items()}
            await self._reread_rates()

    async def _reread_rates(self) -> None:
        """Take the rates as they are: an admin may have set them on another server."""
        rates = await self.store.get(RATES, self.cluster, default=None)
        self.book = replace(self.book, rates=rates.value)

    def reprice(self, book: Book) -> None:
        """Take other prices; they count from the next look on."""
        self.book = book

    def _old(self, now: datetime) -> Mapping[str, Stints]:
        """Return what is left of histories that nobody can need any more."""
        begins = [job.started_at for job in self.running.values() if job.started_at]
        return forgotten(self.stints, min([now - KEPT, *begins]))

    async def _write(self, changed: Mapping[str, Stints]) -> None:
        assert self._records is not None
        known = self._records
        puts: list[Record[Stints]] = []
        drops: list[Record[Stints]] = []
        for name, stints in changed.items():
            record = known.get(name) or Record(
                kind=STINTS, id=f"{self.cluster}/{name}", value=stints
            )
            (puts if stints else drops).append(replace(record, value=stints))
        try:
            await self.store.commit(self.cluster, Change(puts=puts, drops=drops))
        except Conflict:
            # Another server looks at the same nodes, and was quicker.
            self._records = None
            await self.load()
            return
        for put in puts:
            known[put.id.partition("/")[2]] = replace(put, version=put.version + 1)
        for drop in drops:
            known.pop(drop.id.partition("/")[2], None)
        self.stints = {name: each.value for name, each in known.items()}
        self.forget()

    # --- what jobs cost

    @property
    def pricing(self) -> Pricing:
        return Pricing(bill=self.bill, rate=self.rate, quotes=self.quotes, payer=self.payer)

    async def know(self, jobs: Iterable[Job]) -> None:
        """See to it that the nodes of these jobs have been looked at, if they still can be."""
        await self.load()
        for job in jobs:
            unknown = job.nodes and not self.stints.keys() >= expand(job.nodes)
            last, moment = self.looked_at, job.ended_at or self.clock.now()
            if unknown and (last is None or last < moment):
                await self.look()
                return

    def bill(self, job: Job, until: datetime) -> Bill:
        """Return what is not in the books of the present run of a job."""
        return bill(stretches(job, until.replace(microsecond=0)), self.stints)

    def rate(self, job: Job, at: datetime) -> Bill:
        """Return what a job costs per hour."""
        since = at.replace(microsecond=0)
        hour = Stretch(
            since=since,
            until=since + timedelta(hours=1),
            nodes=tuple(sorted(expand(job.nodes))),
            cpus=job.cpus,
            memory_mib=job.memory_mib,
            gpus=job.gpus,
        )
        return first_of(bill([hour], self.stints))

    def quotes(self, job: Job, when: datetime) -> Sequence[Quote]:
        found = (at(self.stints.get(name, ()), when) for name in sorted(expand(job.nodes)))
        quotes = (stint.quote for stint in found if stint and stint.quote)
        return tuple({each.basis: each for each in quotes}.values())

    def payer(self, job: Job) -> Payer:
        return Payer(
            person=self.person_of(job.user),
            account=job.account,
            partition=job.partition,
            template=job.template,
        )

    def opened(self) -> Sequence[Open]:
        """Return every job that runs, with what it has come to by this second."""
        now = self.clock.now().replace(microsecond=0)
        if self._opened_at != now:
            last = self._last
            self._opened = tuple(
                (last[id].later(now) if id in last and last[id].job is job else None)
                or self.open(job, now)
                for id, job in self.running.items()
            )
            self._last = {each.job.id: each for each in self._opened}
            self._opened_at = now
        return self._opened

    def open(self, job: Job, now: datetime) -> Open:
        """Return what a job that runs has come to by a moment."""
        # A second ahead, so that the last charge is the one that counts from now on.
        ahead = self.bill(job, now + timedelta(seconds=1))
        if job.state is JobState.SUSPENDED:
            rate: int | None = 0
        else:
            rate = (ahead if ahead.charges else self.rate(job, now)).usd_per_hour
        return Open(
            job=job, payer=self.payer(job), bill=up_to(ahead, now), usd_per_hour=rate, now=now
        )

    def moved(self) -> None:
        """Take note that other jobs run than before."""
        self._opened_at = None

    def forget(self) -> None:
        """Price every job anew: what a node costs, or whether it is there, has changed."""
        self._opened_at = None
        self._last.clear()


def _is_between(moment: datetime | None, since: datetime | None, until: datetime) -> bool:
    return moment is not None and since is not None and since < moment <= until

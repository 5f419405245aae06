"""The store and the clock in a dict: for tests, demos and the documentation."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, TypeVar

from clusterra.adapters.clock import SystemClock
from clusterra.adapters.envelope import owner_of, spell
from clusterra.adapters.memory_books import MemoryBooks
from clusterra.adapters.memory_deliveries import MemoryDeliveries
from clusterra.core.change import Change, Kind, Record
from clusterra.core.cost.books import PaidRun, RunQuery, Spending, Spent
from clusterra.core.errors import ClusterraError, Conflict
from clusterra.core.events.chain import Growing, Head
from clusterra.core.events.event import Draft, Event, EventQuery
from clusterra.core.events.filter import matches as is_meant
from clusterra.core.jobs.job import Job
from clusterra.core.jobs.query import After, Page, Query, matches, sort_value
from clusterra.core.webhooks.delivery import Attempt, Delivery, DeliveryQuery, DeliveryState
from clusterra.ports import Clock

T = TypeVar("T")


class ManualClock:
    def __init__(self, now: datetime) -> None:
        self._now = now

    def now(self) -> datetime:
        return self._now

    def advance(self, by: timedelta) -> None:
        self._now += by


@dataclass(slots=True)
class _Ledger:
    events: list[Event] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)
    head: Head = field(default_factory=Head)
    cut: Head = field(default_factory=Head)
    """Up to here it is sealed and gone."""

    def append(
        self, cluster: str, drafts: Sequence[Draft], recorded_at: datetime
    ) -> Sequence[Draft]:
        """Return those that it did not have."""
        growing = Growing(self.head)
        taken: list[Draft] = []
        fresh: dict[str, Event] = {}
        for draft in drafts:
            if draft.id in self.ids or draft.id in fresh:
                continue
            taken.append(draft)
            seq = growing.size + 1
            body = spell(draft, cluster=cluster, seq=seq, recorded_at=recorded_at)
            fresh[draft.id] = Event(
                cluster=cluster,
                seq=seq,
                id=draft.id,
                type=draft.fact.type,
                subject=draft.subject,
                actor=draft.actor,
                at=draft.at,
                body=body,
                chain=growing.add(body),
                owner=owner_of(draft.fact.type, body),
            )
        self.events += fresh.values()
        self.ids.update(fresh)
        self.head = growing.head()
        return taken


class MemoryStore:
    def __init__(self, *, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._records: dict[tuple[str, str], Record[Any]] = {}
        self._jobs: defaultdict[str, dict[tuple[int, int], Job]] = defaultdict(dict)
        self._ledgers: defaultdict[str, _Ledger] = defaultdict(_Ledger)
        self._books = MemoryBooks()
        self._deliveries = MemoryDeliveries()
        self._watchers: list[Callable[[str, int], None]] = []
        self._held: dict[str, ClusterraError] = {}

    async def get(self, kind: Kind[T], id: str, default: T) -> Record[T]:
        return self._records.get((kind.name, id)) or Record(kind=kind, id=id, value=default)

    async def list(self, kind: Kind[T], prefix: str = "") -> Sequence[Record[T]]:
        found = [
            record
            for (name, id), record in self._records.items()
            if name == kind.name and id.startswith(prefix)
        ]
        return sorted(found, key=lambda record: record.id)

    async def commit(self, cluster: str, change: Change) -> int:
        if change.events and (why := self._held.get(cluster)):
            raise why
        for each in (*change.unmoved, *change.puts, *change.drops):
            if each.version != (await self.get(each.kind, each.id, None)).version:
                raise Conflict(f"{each.kind.name} {each.id} was changed by somebody else.")
        self._deliveries.check(change.deliveries, change.attempts)
        ledger = self._ledgers[cluster]
        taken = ledger.append(cluster, change.events, self._clock.now())
        self._books.add(cluster, [entry for draft in taken for entry in draft.entries])
        for put in change.puts:
            self._records[put.kind.name, put.id] = replace(put, version=put.version + 1)
        for drop in change.drops:
            self._records.pop((drop.kind.name, drop.id), None)
        for job in change.jobs:
            self._jobs[cluster][job.key] = job
        self._deliveries.put(change.deliveries, change.attempts)
        if taken:
            loop = asyncio.get_running_loop()
            for told in self._watchers:
                loop.call_soon(told, cluster, ledger.head.size)
        return ledger.head.size

    async def events(self, cluster: str, query: EventQuery) -> Sequence[Event]:
        meant = (event for event in self._ledgers[cluster].events if is_meant(event, query))
        return list(islice(meant, query.limit))

    async def events_at(self, cluster: str, seqs: Collection[int]) -> Mapping[int, Event]:
        ledger = self._ledgers[cluster]
        first = ledger.cut.size + 1
        there = range(first, first + len(ledger.events))
        return {seq: ledger.events[seq - first] for seq in seqs if seq in there}

    async def head(self, cluster: str) -> Head:
        return self._ledgers[cluster].head

    async def oldest(self, cluster: str) -> int:
        return self._ledgers[cluster].cut.size + 1

    async def cut(self, cluster: str) -> Head:
        return self._ledgers[cluster].cut

    async def seal(self, cluster: str, cut: Head, change: Change) -> None:
        if why := self._held.get(cluster):
            raise why
        ledger = self._ledgers[cluster]
        there = [event.chain for event in ledger.events if event.seq == cut.size]
        if there != [cut.chain]:
            raise Conflict(f"The ledger of {cluster} cannot be sealed up to event {cut.size}.")
        await self.commit(cluster, change)
        ledger.events = [event for event in ledger.events if event.seq > cut.size]
        ledger.cut = cut

    def hold(self, cluster: str, why: ClusterraError) -> None:
        self._held[cluster] = why

    def watch(self, told: Callable[[str, int], None]) -> None:
        self._watchers.append(told)

    async def job(self, cluster: str, id: int) -> Job | None:
        mine = [job for job in self._jobs[cluster].values() if job.id == id]
        return max(mine, key=lambda job: job.key, default=None)

    async def jobs_by_id(self, cluster: str, ids: Collection[int]) -> Mapping[int, Job]:
        mine = sorted(self._jobs[cluster].values(), key=lambda job: job.key)
        return {job.id: job for job in mine if job.id in ids}

    async def run(self, cluster: str, run_id: str) -> Job | None:
        mine = (job for job in self._jobs[cluster].values() if run_id and job.run_id == run_id)
        return min(mine, key=lambda job: job.key, default=None)

    async def jobs(self, cluster: str, query: Query) -> Page:
        def place(job: Job) -> After:
            return (sort_value(job, query.sort), *job.key)

        found = [job for job in self._jobs[cluster].values() if matches(job, query)]
        found.sort(key=place, reverse=query.descending)
        if (after := query.after) is not None:
            found = [
                job
                for job in found
                if (place(job) < after if query.descending else place(job) > after)
            ]
        more = len(found) > query.limit
        found = found[: query.limit]
        return Page(jobs=found, next=place(found[-1]) if more else None)

    async def count(self, cluster: str, query: Query) -> int:
        return sum(matches(job, query) for job in self._jobs[cluster].values())

    async def live_ids(self, cluster: str) -> Sequence[int]:
        return [job.id for job in self._jobs[cluster].values() if not job.state.ended]

    async def tally(self, cluster: str) -> Mapping[str, int]:
        return Counter(job.state.value for job in self._jobs[cluster].values())

    async def spent(self, query: Spending) -> Sequence[Spent]:
        return self._books.spent(query)

    async def paid_runs(self, query: RunQuery) -> Sequence[PaidRun]:
        return self._books.paid_runs(query)

    async def delivery(self, endpoint: str, event_id: str) -> Delivery | None:
        return self._deliveries.one(endpoint, event_id)

    async def deliveries(self, query: DeliveryQuery) -> Sequence[Delivery]:
        return self._deliveries.found(query)

    async def attempts(self, endpoint: str, event_id: str) -> Sequence[Attempt]:
        return self._deliveries.attempts(endpoint, event_id)

    async def lanes(self) -> Mapping[str, datetime]:
        return self._deliveries.lanes()

    async def delivery_tally(
        self, endpoint: str, since: datetime | None = None
    ) -> Mapping[DeliveryState, int]:
        return self._deliveries.tally(endpoint, since)

    async def forget_deliveries(self, endpoint: str, *, ended_before: datetime | None) -> int:
        return self._deliveries.forget(endpoint, ended_before)

"""The store and the clock in a dict: for tests, demos and the documentation."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, TypeVar

from clusterra.core.change import Change, Kind, Record
from clusterra.core.errors import Conflict
from clusterra.core.events.event import Event
from clusterra.core.jobs.job import Job
from clusterra.core.jobs.query import After, Page, Query, matches, sort_value

T = TypeVar("T")


class ManualClock:
    def __init__(self, now: datetime) -> None:
        self._now = now

    def now(self) -> datetime:
        return self._now

    def advance(self, by: timedelta) -> None:
        self._now += by


class MemoryStore:
    def __init__(self) -> None:
        self._records: dict[tuple[str, str], Record[Any]] = {}
        self._jobs: defaultdict[str, dict[tuple[int, int], Job]] = defaultdict(dict)
        self._ledger: defaultdict[str, list[Event]] = defaultdict(list)

    async def get(self, kind: Kind[T], id: str, default: T) -> Record[T]:
        return self._records.get((kind.name, id)) or Record(kind=kind, id=id, value=default)

    async def commit(self, cluster: str, change: Change) -> int:
        for put in change.puts:
            if put.version != (await self.get(put.kind, put.id, None)).version:
                raise Conflict(f"{put.kind.name} {put.id} was changed by somebody else.")
        for put in change.puts:
            self._records[put.kind.name, put.id] = replace(put, version=put.version + 1)
        for job in change.jobs:
            self._jobs[cluster][job.key] = job
        ledger = self._ledger[cluster]
        for draft in change.events:
            ledger.append(Event(cluster=cluster, seq=len(ledger) + 1, draft=draft))
        return len(ledger)

    async def events(self, cluster: str, *, after: int = 0, limit: int = 100) -> Sequence[Event]:
        return self._ledger[cluster][after : after + limit]

    async def job(self, cluster: str, id: int) -> Job | None:
        mine = [job for job in self._jobs[cluster].values() if job.id == id]
        return max(mine, key=lambda job: job.key, default=None)

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

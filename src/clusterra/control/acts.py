"""Who did what to a job, kept until Slurm shows the effect.

The ledger's job events come from observing Slurm, which does not know our
people. So whoever cancels, holds, releases or requeues a job through us is noted
before the act; the observer then names that person in the event.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from clusterra.core.access import Caller
from clusterra.core.change import Change, Kind, Record
from clusterra.core.events.event import Draft
from clusterra.core.jobs.job import Job
from clusterra.ports import Clock, Store

WITHIN = timedelta(minutes=10)
"""How long after an act its effect is still put down to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    job_id: int
    what: str
    """As the event says it: cancelled, held, released, requeued."""

    actor: str
    at: datetime
    why: str = ""


ACT: Kind[Act] = Kind("act", Act)


@dataclass(slots=True, kw_only=True)
class Acts:
    """The acts on one cluster whose effects have not been seen yet."""

    cluster: str
    store: Store
    clock: Clock
    _open: dict[int, dict[str, Record[Act]]] | None = field(default=None)

    async def note(self, jobs: Collection[Job], what: str, caller: Caller) -> None:
        """Remember who is about to act, before they do."""
        opened = await self._opened()
        now = self.clock.now()
        records = []
        for job in jobs:
            act = Act(job_id=job.id, what=what, actor=caller.actor, at=now, why=caller.why)
            old = opened.get(job.id, {}).get(what)
            id = f"{self.cluster}/{job.id}/{what}"
            records.append(Record(kind=ACT, id=id, value=act, version=old.version if old else 0))
        await self.store.commit(self.cluster, Change(puts=records))
        for record in records:
            _put(opened, replace(record, version=record.version + 1))

    async def withdraw(self, jobs: Iterable[Job], what: str) -> None:
        """Forget acts that came to nothing, so that nobody is named for what another does next."""
        opened = await self._opened()
        records = [acts[what] for job in jobs if what in (acts := opened.get(job.id, {}))]
        if records:
            await self.store.commit(self.cluster, Change(drops=records))
            await self.forget(records)

    async def on(self, job_id: int) -> dict[str, str]:
        """Return who did what to a job of late: `{"cancelled": "user:ana"}`."""
        now = self.clock.now()
        acts = (await self._opened()).get(job_id, {})
        return {
            what: record.value.actor
            for what, record in acts.items()
            if now - record.value.at <= WITHIN
        }

    async def why(self, job_id: int, what: str) -> str:
        """Return what was said for a reason, by whoever did this to a job of late."""
        record = (await self._opened()).get(job_id, {}).get(what)
        return record.value.why if record and self.clock.now() - record.value.at <= WITHIN else ""

    async def told(self, drafts: Iterable[Draft]) -> list[Record[Act]]:
        """Return the acts that these events tell of, and those too old to matter: to be dropped."""
        opened = await self._opened()
        if not opened:
            return []
        told = {(draft.subject, draft.fact.type) for draft in drafts}
        now = self.clock.now()
        return [
            record
            for acts in opened.values()
            for record in acts.values()
            if (f"job/{record.value.job_id}", f"job.{record.value.what}") in told
            or now - record.value.at > WITHIN
        ]

    async def forget(self, records: Iterable[Record[Act]]) -> None:
        """Take note that these have been dropped."""
        opened = await self._opened()
        for record in records:
            acts = opened.get(record.value.job_id, {})
            acts.pop(record.value.what, None)
            if not acts:
                opened.pop(record.value.job_id, None)

    async def _opened(self) -> dict[int, dict[str, Record[Act]]]:
        if self._open is None:
            records = await self.store.list(ACT, f"{self.cluster}/")
            self._open = {}
            for record in records:
                _put(self._open, record)
        return self._open


def _put(opened: dict[int, dict[str, Record[Act]]], record: Record[Act]) -> None:
    opened.setdefault(record.value.job_id, {})[record.value.what] = record

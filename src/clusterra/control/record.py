"""Write what was observed of jobs, together with the events that it tells.

The one place where job events are made. A job as observed and the events between
its last observation and this one become true in one commit, so a process that
dies here has either told all of it or will tell it again, with the same ids.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from clusterra.control.acts import Acts
from clusterra.control.cost.meter import Meter
from clusterra.control.cost.stamp import Stamps
from clusterra.control.cost.waste import Wasting
from clusterra.control.killed import told_apart
from clusterra.core.change import Change, Record
from clusterra.core.cost.settle import Settled, carried, settle, wants_earlier_runs
from clusterra.core.errors import Refused, Unreachable
from clusterra.core.events.catalogue.jobs import ArtifactTold
from clusterra.core.events.derive import derive, is_behind, is_end
from clusterra.core.events.event import Draft
from clusterra.core.jobs.job import HALF_READ, Job, JobState, continues
from clusterra.ports import Clock, Logs, Store

LeftBehind = Callable[[Job], Awaitable[tuple[tuple[ArtifactTold, ...], tuple[Record[Any], ...]]]]
"""Given a job that has ended: what it left behind, to be told, and what is written down with it."""


async def _nothing_left(_: Job) -> tuple[tuple[ArtifactTold, ...], tuple[Record[Any], ...]]:
    return (), ()


@dataclass(slots=True, kw_only=True)
class Recorder:
    cluster: str
    store: Store
    clock: Clock
    acts: Acts
    logs: Logs
    meter: Meter
    wasting: Wasting
    earlier_runs: Callable[[int], Awaitable[Sequence[Job]]]
    """What accounting has of a job's runs before the present one."""

    stamps: Stamps = field(default_factory=Stamps)
    actor_of: Callable[[str], str] = "user:{}".format
    """How the ledger names the person who is a Linux user."""

    begins: datetime | None = None
    """When the cluster's ledger begins: what happened before is history, and no event. None
    until the cluster has been seen, and until then nothing is written."""

    waiting: dict[int, Job] = field(default_factory=dict)
    """Every job that waits, as last observed."""

    running: dict[int, Job] = field(default_factory=dict)
    """Every job that runs or is suspended, as last observed."""

    left_behind: LeftBehind = _nothing_left
    has_left: Callable[[], None] = lambda: None
    """Called when what jobs left behind has been written down."""

    moved: Callable[[], None] = lambda: None
    """Called when a job is in another state than before, or waits for another reason."""

    _writing: asyncio.Lock = field(default_factory=asyncio.Lock)
    """From reading what was known to writing what is: of two who looked, the later one wins."""

    async def record(
        self,
        jobs: Collection[Job],
        *,
        seen_at: datetime | None = None,
        settled: Sequence[Record[Any]] = (),
    ) -> None:
        """Write jobs as observed; `settled` are records that this makes superfluous.

        `seen_at` is when Slurm was asked, if that was not now: a job that waited then may
        have started since.
        """
        if self.begins is None or not (jobs or settled):
            return
        async with self._writing:
            await self._record(jobs, seen_at or self.clock.now(), settled)

    async def _record(
        self, jobs: Collection[Job], seen_at: datetime, settled: Sequence[Record[Any]]
    ) -> None:
        known = await self.store.jobs_by_id(self.cluster, {job.id for job in jobs})
        await self.meter.know(jobs)
        kept: list[Job] = []
        left: list[Record[Any]] = []
        told: list[Draft] = []
        over: list[Job] = []
        for seen in jobs:
            old = known.get(seen.id)
            job = (continues(old, seen) if old else None) or seen
            if old is not None and old.key != job.key:
                old = None  # Slurm has given the id to another job
            job = carried(old, await told_apart(job, old, self.logs))
            if old is not None and is_behind(job, old):
                continue
            if HALF_READ not in job.flags:
                happened = await self._told(old, job, seen_at, left)
                done = await self._settled(old, job, happened, seen_at)
                job = done.job
                told += [*happened, *done.told]
                over += done.ended
            kept.append(job)
        told.sort(key=lambda draft: draft.at)
        acts = await self.acts.told(told)
        await self.tell(told, jobs=kept, puts=left, drops=[*settled, *acts])
        await self.acts.forget(acts)
        if left:
            self.has_left()
        self.stamps.note(told, kept)
        for run in over:
            self.wasting.ended(run)
        if self._has_moved(kept, known):
            self.moved()

    def _has_moved(self, jobs: Collection[Job], known: Mapping[int, Job]) -> bool:
        moved = False
        for job in jobs:
            self.waiting.pop(job.id, None)
            self.running.pop(job.id, None)
            if job.state is JobState.PENDING:
                self.waiting[job.id] = job
            elif not job.state.ended:
                self.running[job.id] = job
            old = known.get(job.id)
            moved |= old is None or (old.state, old.reason) != (job.state, job.reason)
        self.meter.moved()
        return moved

    async def tell(
        self,
        drafts: Sequence[Draft],
        *,
        jobs: Sequence[Job] = (),
        puts: Sequence[Record[Any]] = (),
        drops: Sequence[Record[Any]] = (),
    ) -> None:
        """Append to the ledger what happened since it began."""
        news = [each for each in drafts if self._is_news(each)]
        change = Change(jobs=jobs, events=news, puts=puts, drops=drops)
        if change:
            await self.store.commit(self.cluster, change)

    async def _told(
        self, old: Job | None, job: Job, seen_at: datetime, left: list[Record[Any]]
    ) -> list[Draft]:
        """Return what happened to a job; what is to be written down with it goes to `left`."""
        if old == job:
            return []
        if old is not None and HALF_READ in old.flags:
            old = None  # what the ledger was told of it is not known: tell all, it takes each once
        by = {"submitted": self.actor_of(job.user)} if job.user else {}
        by |= await self.acts.on(job.id)
        why = await self.acts.why(job.id, "cancelled") if "cancelled" in by else ""
        artifacts, records = await self.left_behind(job) if is_end(old, job) else ((), ())
        left += records
        return derive(
            old,
            job,
            cluster=self.cluster,
            now=seen_at,
            by=by,
            why_cancelled=why,
            artifacts=artifacts,
        )

    async def _settled(
        self, old: Job | None, job: Job, happened: Sequence[Draft], seen_at: datetime
    ) -> Settled:
        """Return the job with what it has cost, and what is told of that."""
        if old == job or self.begins is None:
            return Settled(job=job)
        earlier: Sequence[Job] = ()
        if wants_earlier_runs(old, job):
            # Without accounting, or while it cannot be asked, what was seen is what there is; it
            # is asked again when the job ends.
            with suppress(Unreachable, Refused):
                earlier = await self.earlier_runs(job.id)
        return settle(
            old,
            job,
            happened,
            earlier,
            pricing=self.meter.pricing,
            cluster=self.cluster,
            begins=self.begins.replace(microsecond=0),
            seen_at=seen_at,
        )

    def _is_news(self, draft: Draft) -> bool:
        # Slurm's times are whole seconds, cut off.
        return self.begins is not None and draft.at >= self.begins.replace(microsecond=0)

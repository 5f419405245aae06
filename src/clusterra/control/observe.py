"""Keep the store in line with what Slurm shows, at almost no cost to Slurm.

One observer per cluster looks at the queue, however many people watch. A look is
one cheap call that gives a mark per job; details are fetched only of jobs whose
mark changed, and the end of a job that has left the controller comes from
accounting. The calls are counted against a stated budget: when it is spent, what
is left over is fetched in a later round, and states stay right meanwhile.

Nothing is concluded from silence. Only when Slurm has answered several times and
knows a job neither as live nor as ended is the job called LOST.
"""

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from heapq import heappop, heappush, nsmallest
from itertools import islice
from typing import TypeVar

from clusterra.control.nodes import NodeWatch
from clusterra.control.site import Site
from clusterra.core.clusters import SlurmInfo
from clusterra.core.errors import Unreachable
from clusterra.core.events.derive import ripe, ripens_at
from clusterra.core.jobs.job import HALF_READ, Job, JobState
from clusterra.core.jobs.marks import ended, fresh, gone, plain_state, wants_full_list
from clusterra.core.seen import Seen
from clusterra.ports import Clock, Store

T = TypeVar("T")

PART = 1000
"""Marks gone through in one go: a fraction of a millisecond in which nobody else is answered."""

BATCH = 500
"""Jobs in one commit of a long list: a reader waits for none of it for more than a moment."""

LOST_AFTER = timedelta(minutes=2)
"""How long Slurm must answer without knowing a job before the job is called lost: longer than
accounting is usually behind the controller."""

INFO_EVERY = timedelta(minutes=5)
NODES_EVERY = timedelta(seconds=5)
PARTITIONS_EVERY = timedelta(seconds=60)
RUNNING_EVERY = timedelta(seconds=10)
"""How often one running job is fetched again whose state is the same."""

ACCOUNTED_AT_ONCE = 100


_OF_THOSE_WHO_WAIT = (JobState.PENDING, JobState.CANCELLED, JobState.DEADLINE)
"""States that tasks can be in that have not started."""


@dataclass(slots=True, kw_only=True)
class Observer:
    site: Site
    store: Store
    clock: Clock

    _marks: Mapping[int, str] | None = None
    """As of the last look; None until the first full one."""
    _looked_at: datetime = field(init=False)
    """When the marks were asked for: what they say was true then, and may not be now."""
    _due: set[int] = field(default_factory=set)
    """Jobs that changed and whose details are still to be fetched."""
    _missing: dict[int, datetime] = field(default_factory=dict)
    """Jobs that left the controller without an end that we know, and since when."""
    _last_again: dict[JobState, int] = field(default_factory=dict)
    """Of the waiting and of the running jobs, the one whose turn it was last to be fetched again."""

    _running_read_at: datetime = field(init=False)
    """When it was last a running job's turn."""

    _ripening: list[tuple[datetime, int]] = field(default_factory=list)
    """A heap of when time alone will make something true of which job."""
    nodes: NodeWatch = field(init=False)

    def __post_init__(self) -> None:
        self._running_read_at = self.clock.now()
        self.nodes = NodeWatch(site=self.site, store=self.store, clock=self.clock)
        self.site.meter.look = self.nodes.look

    async def look(self) -> bool:
        """Look once; say whether anything is going on that is worth looking again soon."""
        try:
            busy = await (self._first_look() if self._marks is None else self._next_look())
            await self._tell_what_is_ripe()
            await self._look_around()
        except Unreachable as error:
            self.site.sky.why_not, self.site.sky.since = error.detail, None
            await self.site.linked.unseen(error.detail)
            raise
        await self.site.linked.seen()
        sky, now = self.site.sky, self.clock.now()
        sky.seen_at, sky.since, sky.why_not = now, sky.since or now, ""
        return busy

    async def _first_look(self) -> bool:
        """Read everything the controller holds, and settle what it no longer holds."""
        cluster = self.site.cluster.id
        info = await self._ask_about()
        self.site.recorder.begins = await self.site.linked.connected_at(info)
        marks = await self._states()
        held = await self._read_all()
        self._miss(set(await self.store.live_ids(cluster)) - held)
        await self._settle_missing()
        self._marks = marks
        return self._busy()

    async def _next_look(self) -> bool:
        assert self._marks is not None
        was_blind = self.site.sky.since is None
        marks = await self._states()
        changed, left = await compare(self._marks, marks)
        self._marks = marks
        self._due |= await self._unread(changed, marks)
        if was_blind:
            # One that runs as before may have been queued again meanwhile, and run again.
            self._due |= {id for id, mark in marks.items() if mark.startswith(JobState.RUNNING)}
        self._due -= left
        if left:
            live = set(await self.store.live_ids(self.site.cluster.id))
            self._miss(left & live)
        if wants_full_list(len(self._due), len(marks)):
            await self._read_all()
        else:
            await self._read_due()
            await self._read_again()
        await self._settle_missing()
        return self._busy() or bool(changed)

    async def _unread(self, fresh: Collection[int], marks: Mapping[int, str]) -> set[int]:
        """Leave out jobs that somebody else has read since: a hook's word, a person's question."""
        if len(fresh) > BATCH:
            return set(fresh)
        known = await self.store.jobs_by_id(self.site.cluster.id, fresh)
        return {
            id
            for id in fresh
            if (job := known.get(id)) is None
            or job.flags
            or plain_state(marks[id]) is not job.state
        }

    def _busy(self) -> bool:
        different = set((self._marks or {}).values())
        return bool(self._due or self._missing) or not all(map(ended, different))

    async def _states(self) -> Mapping[int, str]:
        self._spend()
        self._looked_at = self.clock.now()
        return await self.site.slurm.states()

    def _spend(self) -> None:
        # The look itself is never held back: a budget too small even for that is honoured by
        # the loop's period, not by going blind.
        self.site.budget.take(self.clock.now())

    async def _read_all(self) -> set[int]:
        self._spend()
        seen_at = self.clock.now()
        held: set[int] = set()
        async for batch in batches(self.site.slurm.all_jobs()):
            held.update(job.id for job in batch)
            await self._write(batch, seen_at)
        self._due.clear()
        return held

    async def _read_due(self) -> None:
        """Fetch what the budget allows: ended jobs by the hundred, live ones singly."""
        assert self._marks is not None
        over = sorted(id for id in self._due if ended(self._marks[id]))
        for start in range(0, len(over), ACCOUNTED_AT_ONCE):
            some = over[start : start + ACCOUNTED_AT_ONCE]
            if len(some) > 1 and self.site.budget.take(self.clock.now()):
                # Accounting may still be behind the controller; such a job is asked for singly.
                over_now = [job for job in await self._accounted(some) if job.state.ended]
                await self._found(over_now, self.clock.now())
        for id in sorted(self._due, reverse=True):
            if not self.site.budget.take(self.clock.now()):
                break
            seen_at = self.clock.now()
            await self._found(await self.site.slurm.job(id), seen_at)
            self._due.discard(id)
        async for batch in batches(self._by_mark(self._due)):
            await self._write(batch, self._looked_at)

    async def _found(self, jobs: Collection[Job], seen_at: datetime) -> None:
        # Written before it is crossed off: a call that fails later must not lose it.
        await self._write(jobs, seen_at)
        self._due.difference_update(job.id for job in jobs)

    async def _read_again(self) -> None:
        """Fetch a few jobs again, in turn: their state is the same, and other things are not.

        Why one waits changes; one that runs may be given more time, or other nodes.
        """
        turns = [(JobState.PENDING, self._again)]
        if self.clock.now() - self._running_read_at >= RUNNING_EVERY:
            self._running_read_at = self.clock.now()
            turns.append((JobState.RUNNING, 1))
        for state, number in turns:
            for id in await self._whose_turn(state, number):
                if self.site.budget.take(self.clock.now()):
                    seen_at = self.clock.now()
                    await self._write(await self.site.slurm.job(id), seen_at)
                    self._last_again[state] = id

    async def _whose_turn(self, state: JobState, number: int) -> list[int]:
        assert self._marks is not None
        last = self._last_again.get(state, 0)
        first: list[int] = []
        later: list[int] = []
        async for part in in_parts(self._marks.items()):
            found = [id for id, mark in part if mark.startswith(state)]
            first = nsmallest(number, first + found)
            later = nsmallest(number, later + [id for id in found if id > last])
        return later or first

    @property
    def _again(self) -> int:
        """How many waiting ones a look: at the usual period, a tenth of the budget."""
        return max(self.site.budget.per_minute // 300, 1)

    async def _by_mark(self, ids: Collection[int]) -> AsyncIterator[Job]:
        """Give jobs whose details must wait at least the state that their mark tells."""
        assert self._marks is not None
        for id in ids:
            state = plain_state(self._marks[id])
            if state and (job := await self.store.job(self.site.cluster.id, id)):
                # The last task of an array to start has the array's id: what has become of it is
                # not what has become of all that its entry stands for.
                if job.array_waiting and state not in _OF_THOSE_WHO_WAIT:
                    continue
                yield replace(job, state=state, flags=(HALF_READ,))

    async def _accounted(self, ids: Collection[int]) -> Iterable[Job]:
        info = self.site.sky.info
        if isinstance(info, Seen) and not info.value.accounting:
            return ()
        return await self.site.slurm.accounted(ids)

    def _miss(self, ids: Iterable[int]) -> None:
        now = self.clock.now()
        for id in ids:
            self._missing.setdefault(id, now)

    async def _settle_missing(self) -> None:
        """Finish jobs that left the controller, from accounting; call LOST what nobody knows."""
        waiting = sorted(self._missing)
        for start in range(0, len(waiting), ACCOUNTED_AT_ONCE):
            if not self.site.budget.take(now := self.clock.now()):
                return
            asked = waiting[start : start + ACCOUNTED_AT_ONCE]
            over = [job for job in await self._accounted(asked) if job.state.ended]
            await self._write(over, now)
            for job in over:
                self._missing.pop(job.id, None)
            for id in asked:
                if now - self._missing.get(id, now) >= LOST_AFTER:
                    await self._lose(id)
                    del self._missing[id]

    async def _lose(self, id: int) -> None:
        job = await self.store.job(self.site.cluster.id, id)
        if job is not None and not job.state.ended:
            lost = replace(job, state=JobState.LOST, ended_at=self.clock.now(), reason="")
            await self._write([lost], self.clock.now())

    async def _write(self, jobs: Collection[Job], seen_at: datetime) -> None:
        await self.site.recorder.record(jobs, seen_at=seen_at)
        now = self.clock.now()
        for job in jobs:
            if (at := ripens_at(job)) is not None and at > now:
                heappush(self._ripening, (at, job.id))

    async def _tell_what_is_ripe(self) -> None:
        """Tell what became true since the last look although no job changed."""
        assert self._marks is not None
        cluster, now = self.site.cluster.id, self._looked_at
        ids = set()
        while self._ripening and self._ripening[0][0] <= now:
            ids.add(heappop(self._ripening)[1])
        if ids:
            jobs = (await self.store.jobs_by_id(cluster, ids)).values()
            # Of one that is in another state by now, what it comes to is told when it is read.
            same = [job for job in jobs if self._marks.get(job.id, "").startswith(job.state)]
            drafts = [each for job in same for each in ripe(job, cluster=cluster, now=now)]
            await self.site.recorder.tell(drafts)

    async def _ask_about(self) -> SlurmInfo:
        self._spend()
        info = await self.site.slurm.about()
        self.site.sky.info = Seen(info, self.clock.now())
        return info

    async def _look_around(self) -> None:
        sky, slurm, now = self.site.sky, self.site.slurm, self.clock.now()
        if _older(sky.info, INFO_EVERY, now):
            await self._ask_about()
        # A cluster without nodes is one that is just getting them, unless we decide when it does.
        none = isinstance(sky.nodes, Seen) and not sky.nodes.value and not self.site.shapes
        if (none or _older(sky.nodes, NODES_EVERY, now)) and self.site.budget.take(now):
            await self.nodes.look()
        # One that is closed is about to be opened: at the start of a cluster, or by an admin.
        closed = isinstance(sky.partitions, Seen) and any(
            each.state != "UP" for each in sky.partitions.value
        )
        often = NODES_EVERY if closed else PARTITIONS_EVERY
        if _older(sky.partitions, often, now) and self.site.budget.take(now):
            sky.partitions = Seen(tuple(await slurm.partitions()), now)


async def compare(before: Mapping[int, str], after: Mapping[int, str]) -> tuple[set[int], set[int]]:
    """Return the jobs that are new or in another state, and those that are held no more."""
    changed: set[int] = set()
    left: set[int] = set()
    if before != after:
        async for marked in in_parts(after.items()):
            changed |= fresh(before, marked)
        async for held in in_parts(before):
            left |= gone(held, after)
    return changed, left


async def in_parts(many: Iterable[T]) -> AsyncIterator[list[T]]:
    """Hand out a part at a time; whoever has asked for something is answered in between."""
    rest = iter(many)
    while part := list(islice(rest, PART)):
        yield part
        await asyncio.sleep(0)


def _older(sight: object, than: timedelta, now: datetime) -> bool:
    return not isinstance(sight, Seen) or sight.age(now) >= than


async def batches(jobs: AsyncIterator[Job]) -> AsyncIterator[list[Job]]:
    batch: list[Job] = []
    async for job in jobs:
        batch.append(job)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch

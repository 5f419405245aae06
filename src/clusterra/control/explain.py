"""Look up all that says why a job waits, and have it explained.

Slurm is asked for what the answer depends on and no more: limits only when a limit is
reached, licences only when some are missing. What cannot be seen is said in the answer;
it is an answer all the same.
"""

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

from clusterra.control.find import find_job
from clusterra.control.forecast import foreseen
from clusterra.control.recall import of_job, recall_newest
from clusterra.control.site import Site
from clusterra.core.access import Caller, sees_whole
from clusterra.core.errors import ClusterraError, Unreachable
from clusterra.core.events.access import may_read
from clusterra.core.events.event import Event, EventQuery
from clusterra.core.jobs.job import Job, JobState
from clusterra.core.jobs.pending.causes import dependency_ids
from clusterra.core.jobs.pending.codes import ASKS_LICENCES, ASKS_RESERVATIONS, ASKS_RULES
from clusterra.core.jobs.pending.explain import ahead_of, code_of, explain
from clusterra.core.jobs.pending.facts import NOT_ASKED, Facts, Line, Row
from clusterra.core.jobs.pending.limit_names import named
from clusterra.core.jobs.pending.starts import start_times
from clusterra.core.jobs.pending.why import Why
from clusterra.core.jobs.privacy import shown_to
from clusterra.core.jobs.query import Op, Query, Sort, Term
from clusterra.core.limits import Limits, Measure
from clusterra.core.scaling.planned import Planned
from clusterra.core.seen import Seen, Sight, Unseen
from clusterra.ports import Clock, Store

T = TypeVar("T")

LIVE = 1000
"""Live jobs that are read to say who uses what."""

FIRST = 20
"""Jobs ahead of it that are read."""

FLEET_ROWS = 400
OWN_ROWS = 200

LATELY = 20_000
"""Events back to which the ledger is searched for what the fleet did."""

NOT_IN_LINE = (
    "dependency",
    "dependencyneversatisfied",
    "begintime",
    "jobhelduser",
    "jobheldadmin",
    "jobholdmaxrequeue",
    "jobarraytasklimit",
    "deadline",
    "badconstraints",
)
"""Reasons for which a job takes nobody's turn."""

_RUNNING = Term(field="state", op=Op.IS, values=("running", "suspended"))
_WAITING = Term(field="state", op=Op.IS, values=("pending",))


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    job: Job
    """As the caller may see it."""

    why: Why


async def explain_job(
    site: Site, label: str, caller: Caller, *, store: Store, clock: Clock
) -> Explained:
    """Say why the job called so waits, to somebody who may know of it."""
    found = await find_job(site, label, caller, store=store)
    job, seen_at, stale = await _fresh(site, found, clock)
    facts = await _Looking(site, job, caller, store, clock).facts(seen_at, stale)
    shown = shown_to(caller, job)
    why = explain(shown, facts)
    ahead = ahead_of(shown, facts)
    if ahead is not None:
        starts = facts.starts.get(ahead.shape, ())
        guess = await foreseen(site, job, ahead, starts, store=store, now=facts.now)
        why = replace(why, estimate=guess)
    return Explained(job=shown, why=why)


async def look_around(site: Site, job: Job, caller: Caller, *, store: Store, clock: Clock) -> Facts:
    """Look up what a job would wait for that Slurm does not have yet."""
    return await _Looking(site, job, caller, store, clock).facts(clock.now(), "")


async def _fresh(site: Site, job: Job, clock: Clock) -> tuple[Job, datetime | None, str]:
    """Ask Slurm for a job that waits: why it does changes without its state."""
    if job.state is not JobState.PENDING:
        return job, site.sky.seen_at, ""
    seen_at = clock.now()
    try:
        jobs = await site.slurm.job(job.id)
    except Unreachable as error:
        return job, site.sky.seen_at, error.detail
    await site.recorder.record(jobs, seen_at=seen_at)
    now = next((each for each in jobs if each.id == job.id), None)
    return (replace(now, born_at=job.born_at) if now else job), seen_at, ""


@dataclass(frozen=True, slots=True)
class _Looking:
    """One look around for the sake of one job."""

    site: Site
    job: Job
    caller: Caller
    store: Store
    clock: Clock

    async def facts(self, seen_at: datetime | None, stale: str) -> Facts:
        job, sky = self.job, self.site.sky
        facts = Facts(
            now=self.clock.now(),
            caller=self.caller,
            seen_at=seen_at,
            stale=stale,
            history=await self._history(),
        )
        if job.state is not JobState.PENDING:
            return facts
        code, limit = code_of(job), named(code_of(job))
        slurm = self.site.slurm
        fleet_rows = await self._fleet_rows()
        submitted = limit is not None and Measure.SUBMITTED in limit.measures
        live, more = await self._live(waiting_too=submitted)
        return replace(
            facts,
            nodes=await self._sight(slurm.nodes, wanted=True, else_seen=sky.nodes),
            rules=await self._sight(
                slurm.partition_rules, wanted=code in ASKS_RULES or limit is not None
            ),
            reservations=await self._sight(
                slurm.reservations, wanted=code in ASKS_RESERVATIONS or bool(job.reservation)
            ),
            licences=await self._sight(slurm.licences, wanted=code in ASKS_LICENCES),
            limits=await self._limits() if limit is not None else NOT_ASKED,
            planned=self._planned(),
            line=await self._line(),
            live=live,
            more_live=more,
            dependencies=await self._dependencies(),
            fleet_rows=fleet_rows,
            starts=start_times(fleet_rows, self.site.shapes),
        )

    async def _history(self) -> tuple[Row, ...]:
        job = self.job
        if not sees_whole(self.caller, job.user):
            return ()
        query = replace(of_job(job), limit=OWN_ROWS)
        return tuple(map(_opened, await self.store.events(self.site.cluster.id, query)))

    async def _fleet_rows(self) -> tuple[Row, ...]:
        types = ("fleet.resized", "fleet.shortage", "node.registered", "node.down", "node.drained")
        head = await self.store.head(self.site.cluster.id)
        found = await recall_newest(
            self.site.cluster.id,
            EventQuery(types=types, limit=FLEET_ROWS, after=max(head.size - LATELY, 0)),
            lambda event: may_read(self.caller, event),
            store=self.store,
        )
        return tuple(_opened(each) for each in found.events)

    async def _sight(
        self,
        ask: Callable[[], Awaitable[Sequence[T]]],
        *,
        wanted: bool,
        else_seen: Sight[tuple[T, ...]] = NOT_ASKED,
    ) -> Sight[tuple[T, ...]]:
        """Ask, and fall back on what was seen last; what nobody wants is not asked."""
        if not wanted:
            return NOT_ASKED
        at = self.clock.now()
        try:
            return Seen(tuple(await ask()), at)
        except ClusterraError as error:
            return else_seen if isinstance(else_seen, Seen) else Unseen(error.detail)

    async def _limits(self) -> Sight[Limits]:
        at = self.clock.now()
        try:
            found = await self.site.slurm.limits(user=self.job.user, account=self.job.account)
        except ClusterraError as error:
            return Unseen(error.detail)
        return Seen(found, at)

    def _planned(self) -> Sight[Planned]:
        return self.site.planned if self.site.shapes else NOT_ASKED

    async def _live(self, *, waiting_too: bool) -> tuple[Sequence[Job], bool]:
        cluster = self.site.cluster.id
        running = await self.store.jobs(cluster, Query(terms=(_RUNNING,), limit=LIVE))
        if not waiting_too:
            return running.jobs, running.next is not None
        waiting = await self.store.jobs(cluster, Query(terms=(_WAITING,), limit=LIVE))
        more = running.next is not None or waiting.next is not None
        return [*running.jobs, *waiting.jobs], more

    async def _line(self) -> Line:
        """Find its place: by priority, and among equals by who came first."""
        cluster, job = self.site.cluster.id, self.job
        priority = job.priority or 0
        here = (
            _WAITING,
            Term(field="partition", op=Op.IS, values=(job.partition.lower(),)),
            Term(field="reason", op=Op.IS, values=NOT_IN_LINE, negated=True),
        )
        above = (*here, Term(field="priority", op=Op.GT, values=(priority,)))
        before = (
            *here,
            Term(field="priority", op=Op.IS, values=(priority,)),
            Term(field="id", op=Op.LT, values=(job.id,)),
        )
        higher = await self.store.count(cluster, Query(terms=above))
        earlier = await self.store.count(cluster, Query(terms=before))
        first = [
            *(
                await self.store.jobs(cluster, Query(terms=above, sort=Sort.PRIORITY, limit=FIRST))
            ).jobs,
            *(
                await self.store.jobs(
                    cluster, Query(terms=before, sort=Sort.ID, descending=False, limit=FIRST)
                )
            ).jobs,
        ]
        return Line(
            ahead=higher + earlier,
            waiting=max(await self.store.count(cluster, Query(terms=here)), higher + earlier + 1),
            first=first[:FIRST],
        )

    async def _dependencies(self) -> dict[int, Job | None]:
        ids = dependency_ids(shown_to(self.caller, self.job))
        found = await self.store.jobs_by_id(self.site.cluster.id, ids) if ids else {}
        return {id: found.get(id) for id in ids}


def _opened(event: Event) -> Row:
    return Row(
        seq=event.seq,
        id=event.id,
        type=event.type,
        subject=event.subject,
        actor=event.actor,
        at=event.at,
        data=json.loads(event.body).get("data", {}),
    )

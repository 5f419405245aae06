"""Decide which workers there are to be, and see to it that Slurm agrees.

One round: who is there, what waits, what is wanted; then the new fleet and the events that
tell why become true in one commit, and whoever speaks for the edge is told. Nothing is
decided about a fleet that cannot be seen.

A worker goes in this order, so that no job is ever on a machine that is being taken away:
Slurm is told to start nothing there; only when it is then seen idle is it counted out;
the edge stops it and says so; and Slurm forgets it. Whoever dies in between, the next
round finds it where it was left.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import structlog

from clusterra.control.edge import Wanted
from clusterra.control.lease import Tenure
from clusterra.control.nodes import NodeWatch
from clusterra.control.policy import load_policy
from clusterra.control.site import Site
from clusterra.core.change import Change, Record
from clusterra.core.clusters import Node
from clusterra.core.errors import Conflict, NotFound, Refused, Unreachable
from clusterra.core.events.event import Draft
from clusterra.core.events.fact import Fact
from clusterra.core.ids import uuid8
from clusterra.core.jobs.job import Job
from clusterra.core.scaling.decision import (
    after_failures,
    ghosts,
    next_fleet,
    resized,
    without,
)
from clusterra.core.scaling.demand import Demand, demand
from clusterra.core.scaling.edge import EdgeReport
from clusterra.core.scaling.fleet import FLEET, Fleet, Phase, Worker
from clusterra.core.scaling.muster import OURS, busy, drained_by_us, muster
from clusterra.core.scaling.plan import Cause, Plan, plan
from clusterra.core.scaling.planned import Planned
from clusterra.core.scaling.policy import Policy
from clusterra.core.seen import Seen, Sight, Unseen
from clusterra.ports import Clock, Store

log = structlog.get_logger()

IDLE = f"{OURS}nothing to do"
GONE = f"{OURS}its machine is gone"

A_REPORT_APART = timedelta(seconds=1)
"""How much later than the first a second report must be to count as another."""

STUCK = timedelta(seconds=30)
"""How long a job may wait although there is room for it: Slurm looks every second or two."""

WITHIN_BUDGET = 1.0
"""Seconds until the next try when Slurm may not be asked so often."""

MANY = 2_000
"""Waiting jobs from which on planning is done beside the event loop, not on it."""


@dataclass(slots=True, kw_only=True)
class Scaler:
    site: Site
    store: Store
    clock: Clock
    tenure: Tenure
    nodes: NodeWatch
    alarm: Callable[[float], None] = lambda _: None
    """Have another round in so many seconds."""

    _fleet: Record[Fleet] | None = None
    _room: dict[int, datetime] = field(default_factory=dict)
    """Waiting jobs for which there is room, and since when."""
    _missed: dict[str, datetime] = field(default_factory=dict)
    """Nodes of Slurm that the edge does not name, and since which report."""

    async def scale(self) -> bool:
        """Decide once; say whether workers come or go."""
        edge, now = self.site.edge, self.clock.now()
        if not self.site.budget.take(now):
            self.alarm(WITHIN_BUDGET)
            return True
        try:
            nodes = await self._look()
        except Unreachable as error:
            edge.lose_sight(error.detail)
            raise
        if await self.tenure.held() is None:
            edge.lose_sight("Another server process looks after this cluster's fleet.")
            return False
        record = await self._loaded()
        report = edge.report
        if (why := _unseen(report)) is not None:
            # An agent that comes back is told what was decided last; nothing new is decided.
            self._tell(record.value, await load_policy(self.site, self.store), nodes, now)
            self.site.planned = Unseen(why)
            return False
        assert isinstance(report, Seen)
        return await self._decide(record, report.value, nodes, now)

    async def _look(self) -> Sequence[Node]:
        site = self.site
        if site.sky.why_not:
            raise Unreachable(site.sky.why_not)
        return await self.nodes.look()

    async def _decide(
        self, record: Record[Fleet], report: EdgeReport, nodes: Sequence[Node], now: datetime
    ) -> bool:
        site = self.site
        committed = record.value
        failed = tuple(site.edge.failed)
        never_came = ghosts(report, nodes, committed, now)
        noted, short = after_failures(committed, (*failed, *never_came), now)
        noted = without(noted, never_came, now)
        there = muster(
            report,
            nodes,
            noted,
            site.shapes,
            missed=self._missed_twice(report, nodes),
            now=now,
        )
        policy = await load_policy(site, self.store)
        waiting = self._waiting(now)

        def think() -> tuple[Demand, Plan]:
            needs = demand(waiting)
            return needs, plan(needs, there.workers, policy, site.shapes, noted.shortages, now)

        needed, wanted = await asyncio.to_thread(think) if len(waiting) > MANY else think()
        names = report.names | {node.name for node in nodes}
        fleet = next_fleet(committed, noted, wanted, there.workers, names, now)
        told: list[Fact] = [
            *short,
            *resized(
                committed,
                fleet,
                wanted,
                demand=needed,
                workers=there.workers,
                policy=policy,
                shapes=site.shapes,
            ),
        ]
        if fleet != committed:
            await self._commit(record, fleet, told, now)
        del site.edge.failed[: len(failed)]
        self._room = {
            job: self._room.get(job, now)
            for job, wait in wanted.waits.items()
            if wait.cause is Cause.ROOM
        }
        self._tell(fleet, policy, nodes, now)
        site.planned = Seen(
            Planned(
                demand=needed,
                workers=there.workers,
                fleet=fleet,
                plan=wanted,
                policy=policy,
                shapes=site.shapes,
            ),
            now,
        )
        await self._forget(there.departed)
        await self._lose(there.vanished, nodes)
        left = await self._let_leave(wanted.leave)
        back = await self._let_stay(there.workers)
        self._set_alarm(wanted, now, at_once=left or back)
        return any(w.phase in (Phase.WARMING, Phase.LEAVING) for w in there.workers)

    def _waiting(self, now: datetime) -> list[Job]:
        """Return the jobs that wait; one that should long have started, as if it wanted to be alone.

        Slurm may know a reason against sharing that it does not tell, and 26.05 does not tell that
        a job wants its nodes to itself.
        """
        return [
            replace(job, exclusive=True) if now - self._room.get(job.id, now) >= STUCK else job
            for job in self.site.recorder.waiting.values()
        ]

    async def _commit(
        self, record: Record[Fleet], fleet: Fleet, told: Sequence[Fact], now: datetime
    ) -> None:
        lease = await self.tenure.held()
        if lease is None:
            raise Conflict("Another server process has taken over this cluster's fleet.")
        cluster = self.site.cluster.id
        drafts = [
            Draft(
                id=uuid8(cluster, fact.type, getattr(fact, "shape", ""), now.timestamp()),
                fact=fact,
                at=now,
                actor="system:scaler",
                subject="fleet",
                correlation=f"fleet/{fleet.version}",
            )
            for fact in told
        ]
        change = Change(puts=[replace(record, value=fleet), lease], events=drafts)
        try:
            await self.store.commit(cluster, change)
        except Conflict:
            self._fleet = None
            self.tenure.lost()
            self.site.edge.lose_sight("Somebody else has just decided about this fleet.")
            raise
        self.tenure.used()
        self._fleet = replace(record, value=fleet, version=record.version + 1)

    def _tell(self, fleet: Fleet, policy: Policy, nodes: Sequence[Node], now: datetime) -> None:
        protected = {node.name for node in nodes if busy(node)}
        if fleet.retire:
            # An edge that cannot tell its machines apart takes what is not protected.
            protected |= {node.name for node in nodes if not drained_by_us(node)}
        wanted = Wanted(
            fleet=fleet,
            protected=frozenset(protected - set(fleet.retire)),
            purchase=policy.purchase,
        )
        self.site.edge.want(wanted, now)

    async def _forget(self, departed: Sequence[str]) -> None:
        with suppress(Refused):
            await self.site.slurm.delete_nodes(departed)

    async def _lose(self, vanished: Sequence[str], nodes: Sequence[Node]) -> None:
        """Give the jobs of machines that went by themselves to others, at once."""
        runs = {node.name for node in nodes if busy(node)}
        for name in vanished:
            log.warning("scale.vanished", cluster=self.site.cluster.id, node=name)
            if name in runs:
                with suppress(Refused, NotFound):
                    await self.site.slurm.mark_down(name, GONE)
        with suppress(Refused):
            await self.site.slurm.delete_nodes(vanished)

    async def _let_leave(self, names: Sequence[str]) -> bool:
        with suppress(Refused, NotFound):
            await self.site.slurm.drain(names, IDLE)
            return bool(names)
        return False

    async def _let_stay(self, workers: Sequence[Worker]) -> bool:
        """Let those in again that got a job in the moment before they were drained."""
        staying = [w.name for w in workers if w.phase is Phase.LEAVING and w.busy]
        with suppress(Refused, NotFound):
            await self.site.slurm.resume(staying)
        return bool(staying)

    def _set_alarm(self, wanted: Plan, now: datetime, *, at_once: bool) -> None:
        if at_once:
            self.alarm(0)
        elif wanted.next_at is not None:
            self.alarm(max((wanted.next_at - now).total_seconds(), 0))

    def _missed_twice(self, report: EdgeReport, nodes: Sequence[Node]) -> frozenset[str]:
        """Return the nodes that the edge should have named in two reports and did not.

        One that has just come is known to Slurm before the next report; so is one that has
        just got the name of another.
        """
        unnamed = {node.name for node in nodes} - report.names
        missed = unnamed if report.nodes is not None else set()
        self._missed = {name: self._missed.get(name, report.at) for name in missed}
        return frozenset(
            name for name, first in self._missed.items() if report.at - first >= A_REPORT_APART
        )

    async def _loaded(self) -> Record[Fleet]:
        if self._fleet is None:
            record = await self.store.get(FLEET, self.site.cluster.id, default=Fleet())
            begun, decided = self.site.begun_at, record.value.decided_at
            if begun is not None and decided is not None and decided < begun:
                # What was wanted then ended with the machine that it ran on.
                record = replace(record, value=Fleet(version=record.value.version + 1))
            self._fleet = record
        return self._fleet


def _unseen(report: Sight[EdgeReport]) -> str | None:
    """Return why the edge's workers are not known; None if they are."""
    if not isinstance(report, Seen):
        return report.why
    if report.value.workers is None and report.value.nodes is None:
        return "The agent could not list its workers."
    return None

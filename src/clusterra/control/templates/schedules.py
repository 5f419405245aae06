"""Start recipes when they are due.

Each time is submitted under a key of its own, so that two servers, or one that was stopped in
between, make one job of it. A time that finds the job of the last one still there is left out:
work that takes longer than its interval must not pile up. Times that were missed while nobody
looked are made good once.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import structlog

from clusterra.control.people.drawn import new_id
from clusterra.control.submit import Submission, Submitter
from clusterra.control.templates.start import Starter
from clusterra.core.access import Caller, Deed, check_may
from clusterra.core.change import NO_LEDGER, Change, Record
from clusterra.core.errors import ClusterraError, Forbidden, Invalid, NotFound, TooLarge
from clusterra.core.quote import shown
from clusterra.core.templates import cron
from clusterra.core.templates.launch import launch_from
from clusterra.core.templates.schedule import SCHEDULE, Schedule
from clusterra.ports import Clock, Store

log = structlog.get_logger()

MOST = 100
"""Schedules of one cluster."""


@dataclass(slots=True, kw_only=True)
class Schedules:
    store: Store
    clock: Clock
    starter: Starter
    submitters: Mapping[str, Submitter]
    owner_of: Callable[[str, str], Caller | None]
    """Given a person and a workspace: who they are there now; None if they are gone."""

    async def make(
        self,
        *,
        cluster: str,
        workspace: str,
        owner: str,
        operator: bool,
        user: str,
        template_id: str,
        schedule: str,
        body: Mapping[str, Any],
        first: Submission,
    ) -> Schedule:
        """Have it started again and again, after a first time that has been submitted."""
        now = self.clock.now()
        made = Schedule(
            id=new_id("sch_", now),
            cluster=cluster,
            workspace=workspace,
            owner=owner,
            operator=operator,
            user=user,
            template_id=template_id,
            cron=schedule,
            body={name: value for name, value in body.items() if name != "schedule"},
            made_at=now,
            next_at=cron.read_cron(schedule).after(now),
            last_at=now,
            last_job_id=first.job_id,
            last_run_id=first.run_id,
        )
        record = Record(kind=SCHEDULE, id=f"{cluster}/{made.id}", value=made)
        await self.store.commit(NO_LEDGER, Change(puts=[record]))
        return made

    async def check(self, cluster: str, schedule: str) -> None:
        """Raise, before anything is submitted, for a schedule that cannot be."""
        if problem := cron.problem(schedule):
            raise Invalid(
                f"The schedule {shown(schedule)} {problem}",
                hint="Minute, hour, day, month, weekday, in UTC: `0 6 * * 1` is Mondays at six.",
                at="schedule",
            )
        if len(await self.of(cluster)) >= MOST:
            raise TooLarge(
                f"This cluster has {MOST} schedules already.",
                hint="Remove one: clusterra templates unschedule ID",
                code="too-many-schedules",
            )

    async def of(self, cluster: str) -> Sequence[Schedule]:
        return [each.value for each in await self.store.list(SCHEDULE, f"{cluster}/")]

    async def remove(self, cluster: str, id: str, caller: Caller) -> Schedule:
        records = await self.store.list(SCHEDULE, f"{cluster}/{id}")
        mine = [each for each in records if caller.admin or each.value.user == caller.user]
        if len(mine) != 1:
            raise NotFound(
                f"There is no schedule {shown(id)} of yours on this cluster.",
                hint="`clusterra templates schedules` shows those there are.",
                code="schedule-not-found",
            )
        await self.store.commit(NO_LEDGER, Change(drops=mine))
        return mine[0].value

    async def start_due(self) -> bool:
        """Start what is due; say whether anything was."""
        now = self.clock.now()
        due = [each for each in await self.store.list(SCHEDULE) if each.value.next_at <= now]
        for record in due:
            done = await self._started(record.value, now)
            await self.store.commit(NO_LEDGER, Change(puts=[replace(record, value=done)]))
        return bool(due)

    async def _started(self, due: Schedule, now: datetime) -> Schedule:
        after = replace(due, last_at=now, next_at=cron.read_cron(due.cron).after(now))
        try:
            if due.cluster not in self.submitters:
                return replace(after, last_problem="The cluster is gone.")
            if await self._still_there(due):
                why = f"Job {due.last_job_id}, of the time before, had not ended."
                return replace(after, last_problem=why)
            started = await self.starter.start(
                self.submitters[due.cluster],
                launch_from(due.body),
                self._owner(due),
                body=json.dumps(["schedule", due.id]).encode(),
                key=f"schedule/{due.id}/{due.next_at.isoformat()}",
            )
        except ClusterraError as error:
            log.warning("schedule.refused", schedule=due.id, why=error.detail)
            return replace(after, last_problem=error.detail)
        last = started.steps[-1].submitted.submission
        return replace(after, last_job_id=last.job_id, last_run_id=last.run_id, last_problem="")

    def _owner(self, due: Schedule) -> Caller:
        owner = self.owner_of(due.owner, due.workspace)
        if owner is None:
            raise Forbidden(f"Whoever made it is no longer in {due.workspace}.", code="owner-gone")
        check_may(owner.role, Deed.SUBMIT, workspace=due.workspace)
        return replace(owner, user=due.user) if due.operator else owner

    async def _still_there(self, due: Schedule) -> bool:
        job = await self.store.run(due.cluster, due.last_run_id)
        return job is not None and not job.state.ended

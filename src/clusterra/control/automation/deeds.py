"""How each action is done: a webhook told, a job submitted, requeued, or submitted again."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from clusterra.control.automation.fire import Done
from clusterra.control.automation.whom import check_webhook
from clusterra.control.change_job import requeue_job
from clusterra.control.find import find_job
from clusterra.control.requests import Requests
from clusterra.control.site import Site
from clusterra.control.submit import Compose, Submitter
from clusterra.control.templates.start import Starter
from clusterra.core.access import Caller, Deed, check_may, check_may_change
from clusterra.core.automation.action import Act, adjustment_of
from clusterra.core.automation.firing import Firing, made_run_id
from clusterra.core.automation.values import environment, in_options, in_script, values
from clusterra.core.errors import Conflict, Forbidden, NotFound, Refused
from clusterra.core.events.event import Event, EventQuery
from clusterra.core.jobs.again import Adjustment, adjusted, again
from clusterra.core.jobs.compose import compose, wish_from
from clusterra.core.jobs.job import Job, JobState
from clusterra.core.jobs.request import JobRequest
from clusterra.core.templates.launch import launch_from
from clusterra.ports import Clock, Login, Store

Notify = Callable[[str, Event], Awaitable[None]]
"""Has a webhook told of an event, whatever it wants to hear of otherwise."""

_AMOUNTS = ("memory_per_node", "memory_per_cpu", "memory_per_tres", "time_limit")


@dataclass(slots=True, kw_only=True)
class Deeds:
    store: Store
    clock: Clock
    requests: Requests
    sites: Callable[[], Mapping[str, Site]]
    submitters: Mapping[str, Submitter]
    starter: Starter
    owner_of: Callable[[Firing], Caller | None]
    notify: Notify

    async def do(self, firing: Firing) -> Done:
        """Do what a firing says, with the rights that its owner has now."""
        owner = self.owner_of(firing)
        if owner is None:
            raise Forbidden(
                f"Whoever made it is no longer in {firing.workspace}.",
                hint="Have somebody else make it again.",
                code="owner-gone",
            )
        match firing.action.act:
            case Act.NOTIFY | Act.CALL:
                return await self._tell(firing, owner)
            case Act.SUBMIT:
                return await self._submit(firing, owner)
            case Act.REQUEUE:
                return await self._requeue(firing, owner)
            case Act.RETRY:
                return await self._retry(firing, owner)

    async def _tell(self, firing: Firing, owner: Caller) -> Done:
        endpoint, cause = firing.action.endpoint, firing.cause
        await check_webhook(endpoint, firing.workspace, owner, firing.owner, store=self.store)
        query = EventQuery(after=cause.seq - 1, limit=1)
        found = [
            each for each in await self.store.events(cause.ledger, query) if each.id == cause.id
        ]
        if not found:
            raise NotFound(
                "The event has left the ledger before it could be told.", code="event-gone"
            )
        await self.notify(endpoint, found[0])
        return Done()

    async def _submit(self, firing: Firing, owner: Caller) -> Done:
        check_may(owner.role, Deed.SUBMIT, workspace=firing.workspace)
        wanted = firing.action.submit
        site = self._site(firing, wanted.cluster or firing.cause.cluster)
        user = site.user if firing.operator else owner.user
        known = values(firing.cause)
        options = in_options(wanted.options, known)
        options["env"] = {**(options.get("env") or {}), **environment(known)}
        if wanted.template:
            whose = replace(owner, user=user)
            return await self._start(
                firing, site, {**options, "template_id": wanted.template}, whose
            )
        wish = wish_from({**options, "script": in_script(wanted.script, known)})

        def make(login: Login, run_id: str) -> JobRequest:
            return compose(
                wish,
                home=login.home,
                user=login.name,
                run_id=run_id,
                now=self.clock.now(),
                given=login.variables,
            )

        return await self._hand_over(firing, site, make, replace(owner, user=user))

    async def _retry(self, firing: Firing, owner: Caller) -> Done:
        check_may(owner.role, Deed.SUBMIT, workspace=firing.workspace)
        site, job = await self._job(firing, owner)
        adjustment = self._adjustment(firing)
        request = await self.requests.of(firing.cause.run_id)
        if request is None:
            raise Refused(
                f"What job {job.label} was submitted with is not kept: it was submitted past"
                " Clusterra, or too long ago.",
                hint="Let the automation requeue such jobs: they run again as they are.",
                code="request-not-kept",
            )
        wanted, changed = adjusted(request, job, adjustment)
        _check_more(firing, request, wanted, adjustment)
        # In the name of whoever the job belongs to: its script must not run as somebody else,
        # and least of all as an admin whose automation this is.
        whose = replace(owner, user=job.user)
        done = await self._hand_over(
            firing, site, lambda _, run_id: again(wanted, run_id=run_id), whose
        )
        return replace(done, changed=changed)

    def _adjustment(self, firing: Firing) -> Adjustment:
        state = firing.cause.job_state
        found = None if state is None else adjustment_of(firing.action.retry, state)
        assert found is not None  # else there is no such firing
        return found

    async def _requeue(self, firing: Firing, owner: Caller) -> Done:
        check_may(owner.role, Deed.CHANGE_JOBS, workspace=firing.workspace)
        site, job = await self._job(firing, owner)
        live = next((each for each in await site.slurm.job(job.id) if each.id == job.id), job)
        if live.restarts > firing.cause.restarts:
            return Done()  # it has been done: by us, before somebody pulled the plug, or by others
        whom = replace(owner, why=f"automation {firing.name}".strip())
        try:
            await requeue_job(site, str(job.id), whom, store=self.store)
        except Conflict as error:
            # It had started when the event came: if it waits now, it has been requeued.
            if error.code != "job-waiting" or firing.cause.job_state is JobState.PENDING:
                raise
        return Done()

    async def _hand_over(self, firing: Firing, site: Site, make: Compose, whose: Caller) -> Done:
        cluster = site.cluster.id
        done = await self.submitters[cluster].submit(
            make,
            whose,
            body=json.dumps(["automation", firing.id]).encode(),
            key=firing.id,
            run_id=made_run_id(firing.id, firing.at),
        )
        made = done.submission
        return Done(made_job_id=made.job_id, made_run_id=made.run_id, made_cluster=cluster)

    async def _start(
        self, firing: Firing, site: Site, body: Mapping[str, Any], whose: Caller
    ) -> Done:
        """Start what a recipe comes to; of a workflow, its first job is told of."""
        cluster = site.cluster.id
        started = await self.starter.start(
            self.submitters[cluster],
            launch_from(body),
            whose,
            body=json.dumps(["automation", firing.id]).encode(),
            key=firing.id,
            run_id=made_run_id(firing.id, firing.at),
        )
        made = started.steps[0].submitted.submission
        return Done(made_job_id=made.job_id, made_run_id=made.run_id, made_cluster=cluster)

    async def _job(self, firing: Firing, owner: Caller) -> tuple[Site, Job]:
        """Return the job that it is about, if the owner may change it."""
        site = self._site(firing, firing.cause.cluster)
        job = await find_job(site, str(firing.cause.job_id), owner, store=self.store)
        if job.run_id != firing.cause.run_id:
            raise NotFound(
                f"Job {firing.cause.job_id} is another one by now.", code="job-not-found"
            )
        check_may_change(owner, job)
        return site, job

    def _site(self, firing: Firing, cluster: str) -> Site:
        mine = {id: site for id, site in self.sites().items() if site.workspace == firing.workspace}
        if not cluster and len(mine) == 1:
            return next(iter(mine.values()))
        if not cluster:
            raise Refused(
                "The event is of no cluster, and the automation does not say where to submit.",
                hint="Name one in submit.cluster.",
                code="no-cluster",
            )
        if cluster not in mine:
            raise NotFound(
                f"There is no cluster {cluster} in {firing.workspace}.",
                hint="`clusterra clusters list` shows those there are.",
                code="cluster-not-found",
            )
        return mine[cluster]


def _check_more(
    firing: Firing, before: JobRequest, after: JobRequest, adjustment: Adjustment
) -> None:
    """Refuse to run a job into the same wall again."""
    if adjustment.as_is or any(
        before.properties.get(each) != after.properties.get(each) for each in _AMOUNTS
    ):
        return
    what = "time" if firing.cause.job_state in (JobState.TIMEOUT, JobState.DEADLINE) else "memory"
    raise Refused(
        f"Job {firing.cause.label or firing.cause.job_id} needs more {what} than it had, and the"
        " automation allows no more.",
        hint=f"Raise its most_{what}, or submit the job by hand.",
        code="at-its-most",
    )

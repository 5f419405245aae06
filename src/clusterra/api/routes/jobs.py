"""Jobs over HTTP."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from clusterra.api import body, cursor
from clusterra.api.admit import Guarded, caller_of, guest_of
from clusterra.api.door import plane_of
from clusterra.api.guest import OPERATOR
from clusterra.api.openapi import takes
from clusterra.api.sight import sight
from clusterra.api.straight import StraightRoute
from clusterra.control.automation.then import Then
from clusterra.control.change_job import (
    cancel_job,
    cancel_jobs,
    edit_job,
    hold_job,
    release_job,
    requeue_job,
)
from clusterra.control.cost.estimate import estimate_job
from clusterra.control.cost.job_cost import cost_so_far
from clusterra.control.find import find_job
from clusterra.control.plane import Plane
from clusterra.control.site import Site
from clusterra.control.submit import Compose
from clusterra.core.access import Caller, sees_whole
from clusterra.core.automation.then import read_then
from clusterra.core.errors import Invalid
from clusterra.core.jobs.compose import JobWish, compose, compose_raw, is_raw, wish_from
from clusterra.core.jobs.job import Job
from clusterra.core.jobs.language import parse
from clusterra.core.jobs.privacy import as_seen_by, shown_to
from clusterra.core.jobs.request import JobEdit, JobRequest
from clusterra.core.jobs.script import remarks
from clusterra.core.seen import Seen
from clusterra.core.templates.launch import is_launch, launch_from
from clusterra.core.units import parse_time_limit
from clusterra.ports import Login
from clusterra.wire.estimate import JobEstimate
from clusterra.wire.jobs import (
    CancelFailure,
    CancelJobs,
    EditJob,
    JobAccepted,
    JobAct,
    JobPage,
    JobsCancelled,
    JobView,
    StepAccepted,
    SubmitJob,
)
from clusterra.wire.templates import SubmitSteps, SubmitTemplate

router = APIRouter(prefix="/v1/clusters/{cluster}/jobs", tags=["jobs"], route_class=Guarded)

LONGEST_KEY = 255


@router.post(
    "/submit",
    status_code=201,
    response_model=JobAccepted,
    openapi_extra=takes(SubmitJob, SubmitTemplate, SubmitSteps),
)
async def submit(request: Request, cluster: str) -> Response:
    """Submit a job: the friendly body, slurmrestd's own (`{"script": …, "job": {…}}`), or a recipe
    (`{"template_id": …, "params": {…}}`, or `{"steps": […]}`).

    With an `Idempotency-Key` header the same request may be sent again safely: it
    answers what the first one came to.
    """
    plane, caller = plane_of(request), caller_of(request)
    raw = await body.read(request)
    table = body.decode_object(raw)
    key = request.headers.get("idempotency-key", "")
    if len(key) > LONGEST_KEY:
        raise Invalid(
            f"The Idempotency-Key has {len(key)} characters; the most is {LONGEST_KEY}.",
            hint="Use a UUID.",
            at="Idempotency-Key",
        )
    if is_launch(table):
        return await _launch(request, cluster, table, raw, key)
    wish = None if is_raw(table) else wish_from(table)
    make, submitter = _making(table, wish, plane), plane.submitters[cluster]
    if wish and wish.then:
        then = _then(request, plane, submitter.site, wish.then)
        done = await then.submit(submitter, make, caller, body=raw, key=key)
    else:
        done = await submitter.submit(make, caller, body=raw, key=key)
    made = done.submission
    if wish and not done.repeated:
        plane.scripts.keep(submitter.site, caller, wish.script_name, wish.script)
    accepted = JobAccepted(
        job_id=made.job_id,
        run_id=made.run_id,
        user=made.user,
        warnings=[*(remarks(wish.script) if wish else ()), *made.warnings],
    )
    return _accepted(accepted, cluster, repeated=done.repeated)


def _accepted(accepted: JobAccepted, cluster: str, *, repeated: bool) -> Response:
    headers = {"location": f"/v1/clusters/{cluster}/jobs/{accepted.job_id}"}
    if repeated:
        return body.json(accepted, 200, headers | {"idempotent-replayed": "true"})
    return body.json(accepted, 201, headers)


async def _launch(
    request: Request, cluster: str, table: Mapping[str, Any], raw: bytes, key: str
) -> Response:
    """Submit what a recipe comes to."""
    plane, caller, submitter = plane_of(request), caller_of(request), plane_of(request).submitters
    wish = launch_from(table)
    schedule = wish.schedule or plane.starter.schedule_of(wish, submitter[cluster].site.workspace)
    if schedule:
        await plane.schedules.check(cluster, schedule)
    said = wish.options.get("then")
    then = _then(request, plane, submitter[cluster].site, said) if said else None
    started = await plane.starter.start(
        submitter[cluster], wish, caller, body=raw, key=key, then=then
    )
    first = started.steps[0].submitted.submission
    accepted = JobAccepted(
        job_id=first.job_id,
        run_id=started.workflow.id if started.workflow else first.run_id,
        user=first.user,
        warnings=[*started.remarks, *first.warnings],
        workflow_id=started.workflow.id if started.workflow else None,
        steps=[
            StepAccepted(
                step_id=each.step_id,
                template_id=each.template_id,
                job_id=each.submitted.submission.job_id,
                run_id=each.submitted.submission.run_id,
            )
            for each in started.steps
        ],
    )
    repeated = all(each.submitted.repeated for each in started.steps)
    if schedule and not repeated:
        guest = guest_of(request)
        made = await plane.schedules.make(
            cluster=cluster,
            workspace=submitter[cluster].site.workspace,
            owner=guest.person.id,
            operator=guest.by == OPERATOR,
            user=first.user,
            template_id=wish.template_id,
            schedule=schedule,
            body=table,
            first=started.steps[-1].submitted.submission,
        )
        accepted = replace(accepted, schedule_id=made.id, next_at=made.next_at)
    return _accepted(accepted, cluster, repeated=repeated)


def _then(request: Request, plane: Plane, site: Site, said: list[dict[str, Any]]) -> Then:
    """Return what is to follow the job, or raise Invalid for what cannot."""
    guest = guest_of(request)
    return plane.automations.then(
        read_then(said),
        workspace=site.workspace,
        owner=guest.person.id,
        operator=guest.by == OPERATOR,
    )


def _making(table: Mapping[str, Any], wish: JobWish | None, plane: Plane) -> Compose:
    """Return what makes the request, of either body."""

    def make(login: Login, run_id: str) -> JobRequest:
        if wish is None:
            return compose_raw(
                table,
                home=login.home,
                user=login.name,
                run_id=run_id,
                given=login.variables,
            )
        return compose(
            wish,
            home=login.home,
            user=login.name,
            run_id=run_id,
            now=plane.clock.now(),
            given=login.variables,
        )

    return make


@router.post(
    "/estimate",
    response_model=JobEstimate,
    openapi_extra=takes(SubmitJob, SubmitTemplate, SubmitSteps),
)
async def estimate(request: Request, cluster: str) -> Response:
    """Say what a job would come to, of the same body as a submission; nothing is submitted.

    Workers and their price, when it would likely start, what it does to quotas, and how it would
    cost less.
    """
    plane, site, caller = _act(request, cluster)
    table = body.decode_object(await body.read(request))
    submitter = plane.submitters[cluster]
    if is_launch(table):
        asked, remarked = await plane.starter.rehearse(submitter, launch_from(table), caller)
    else:
        wish = None if is_raw(table) else wish_from(table)
        asked = await submitter.rehearse(_making(table, wish, plane), caller)
        remarked = remarks(wish.script) if wish else ()
    found = await estimate_job(
        site, asked, caller, quotas=plane.quotas, store=plane.store, clock=plane.clock
    )
    return body.json(JobEstimate.of(found, remarked))


STRAIGHT = (StraightRoute("POST", f"{router.prefix}/submit", submit),)
"""Where programs come by hundreds a second."""


@router.get("", response_model=JobPage)
async def list_jobs(
    request: Request,
    cluster: str,
    q: Annotated[
        str, Query(description="The query language: `user:ana state:failed cpus>=4 ended<2d`.")
    ] = "",
    user: str = "",
    state: str = "",
    partition: str = "",
    sort: Annotated[
        str, Query(description="A field; a leading - means newest or largest first.")
    ] = "-submitted",
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
    cursor_: Annotated[str, Query(alias="cursor", description="`next` of the page before.")] = "",
) -> Response:
    """List jobs, live and past together."""
    plane = plane_of(request)
    site = plane.site(cluster)
    now = plane.clock.now()
    caller = caller_of(request)
    words = [q, *_filters(user=user, state=state, partition=partition)]
    query = parse(" ".join(words), now=now, sort=sort, limit=limit)
    if cursor_:
        query = replace(query, after=cursor.read(cursor_, query))
    query = as_seen_by(caller, query)
    page = await plane.store.jobs(cluster, query)
    # The one page there is has been counted by reading it.
    alone = page.next is None and not cursor_
    total = len(page.jobs) if alone else await plane.store.count(cluster, query)
    return body.json(
        JobPage(
            jobs=[_view(site, caller, job) for job in page.jobs],
            next=None if page.next is None else cursor.write(page.next, query),
            total=total,
            **sight(site.sky, now),
        )
    )


def _filters(**given: str) -> list[str]:
    return [f'{field}:"{text}"' for field, text in given.items() if text]


@router.post("/cancel", response_model=JobsCancelled, openapi_extra=takes(CancelJobs))
async def cancel_many(request: Request, cluster: str) -> Response:
    """Cancel every live job that a query finds; by default only say which."""
    plane = plane_of(request)
    site = plane.site(cluster)
    wanted = body.decode(await body.read(request), CancelJobs)
    if not wanted.query.strip():
        raise Invalid(
            "An empty query would cancel every job.",
            hint="Say which jobs; `state:live` if you mean all of them.",
            at="query",
            code="query-empty",
        )
    done = await cancel_jobs(
        site,
        parse(wanted.query, now=plane.clock.now()),
        caller_of(request),
        dry_run=wanted.dry_run,
        store=plane.store,
    )
    return body.json(
        JobsCancelled(
            count=len(done.jobs),
            dry_run=wanted.dry_run,
            job_ids=[job.id for job in done.jobs],
            failed=[CancelFailure(job_id=job.id, detail=why) for job, why in done.failed],
        )
    )


@router.get("/{job_id}", response_model=JobView)
async def show(request: Request, cluster: str, job_id: str) -> Response:
    """Return one job, live or ended."""
    plane, site, caller = _act(request, cluster)
    job = await find_job(site, job_id, caller, store=plane.store)
    return body.json(_view(site, caller, job))


@router.delete("/{job_id}", response_model=JobAct)
async def cancel(request: Request, cluster: str, job_id: str) -> Response:
    """Cancel a job."""
    plane, site, caller = _act(request, cluster)
    return _acted("cancel", await cancel_job(site, job_id, caller, store=plane.store))


@router.post("/{job_id}/hold", response_model=JobAct)
async def hold(request: Request, cluster: str, job_id: str) -> Response:
    """Keep a waiting job from starting."""
    plane, site, caller = _act(request, cluster)
    return _acted("hold", await hold_job(site, job_id, caller, store=plane.store))


@router.post("/{job_id}/release", response_model=JobAct)
async def release(request: Request, cluster: str, job_id: str) -> Response:
    """Let a held job start again."""
    plane, site, caller = _act(request, cluster)
    return _acted("release", await release_job(site, job_id, caller, store=plane.store))


@router.post("/{job_id}/requeue", response_model=JobAct)
async def requeue(request: Request, cluster: str, job_id: str) -> Response:
    """Put a running or ended job back into the queue."""
    plane, site, caller = _act(request, cluster)
    return _acted("requeue", await requeue_job(site, job_id, caller, store=plane.store))


@router.patch("/{job_id}", response_model=JobAct, openapi_extra=takes(EditJob))
async def edit(request: Request, cluster: str, job_id: str) -> Response:
    """Change a job's name, time limit or priority."""
    plane, site, caller = _act(request, cluster)
    wanted = body.decode(await body.read(request), EditJob)
    limit = None if wanted.time is None else parse_time_limit(str(wanted.time))
    change = JobEdit(name=wanted.name, time_limit_minutes=limit, priority=wanted.priority)
    if not change:
        raise Invalid(
            "There is nothing to change in this request.",
            hint="Give at least one of name, time, priority.",
        )
    return _acted("edit", await edit_job(site, job_id, change, caller, store=plane.store))


def _act(request: Request, cluster: str) -> tuple[Plane, Site, Caller]:
    plane = plane_of(request)
    site = plane.site(cluster)
    return plane, site, caller_of(request)


def _view(site: Site, caller: Caller, job: Job) -> JobView:
    planned = site.planned
    waits_for = planned.value.waits_for(job) if isinstance(planned, Seen) else ""
    cost = cost_so_far(job, site) if sees_whole(caller, job.user) else None
    return JobView.of(shown_to(caller, job), waits_for, cost)


def _acted(act: str, job: Job) -> Response:
    return body.json(JobAct(job_id=job.id, act=act, state=job.state.value))

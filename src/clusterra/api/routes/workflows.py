"""Workflows over HTTP: several jobs of which some wait for others."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from clusterra.api import body
from clusterra.api.admit import Guarded, caller_of
from clusterra.api.door import plane_of
from clusterra.api.template_view import workflow_view
from clusterra.control.plane import Plane
from clusterra.core.access import Caller, sees_whole
from clusterra.core.errors import NotFound
from clusterra.core.jobs.job import Job
from clusterra.core.jobs.query import Op, Term
from clusterra.core.jobs.query import Query as JobQuery
from clusterra.core.quote import shown
from clusterra.core.templates.workflow import WORKFLOW, Workflow, array_as_one
from clusterra.wire.templates import WorkflowPage, WorkflowView

router = APIRouter(
    prefix="/v1/clusters/{cluster}/workflows", tags=["templates"], route_class=Guarded
)

MOST_TASKS = 10_000
"""Tasks of an array that are looked at; Slurm itself allows 1,000 unless told otherwise."""


@router.get("", response_model=WorkflowPage)
async def list_workflows(
    request: Request, cluster: str, limit: Annotated[int, Query(ge=1, le=200)] = 20
) -> Response:
    """List workflows, the newest first."""
    plane, caller = plane_of(request), caller_of(request)
    plane.site(cluster)
    seen = [
        each.value
        for each in await plane.store.list(WORKFLOW, f"{cluster}/")
        if sees_whole(caller, each.value.user)
    ]
    seen.sort(key=lambda each: each.at, reverse=True)
    views = [workflow_view(each, await _jobs(plane, each)) for each in seen[:limit]]
    return body.json(WorkflowPage(workflows=views, total=len(seen)))


@router.get("/{workflow}", response_model=WorkflowView)
async def show_workflow(request: Request, cluster: str, workflow: str) -> Response:
    """Return a workflow, with how each step stands and why one was not started."""
    plane, caller = plane_of(request), caller_of(request)
    plane.site(cluster)
    found = await _found(plane, cluster, workflow, caller)
    return body.json(workflow_view(found, await _jobs(plane, found)))


async def _found(plane: Plane, cluster: str, id: str, caller: Caller) -> Workflow:
    records = [each.value for each in await plane.store.list(WORKFLOW, f"{cluster}/{id}")]
    if len(records) != 1 or not sees_whole(caller, records[0].user):
        raise NotFound(
            f"There is no workflow {shown(id)} on this cluster.",
            hint="`clusterra templates workflows` shows those there are.",
            code="workflow-not-found",
        )
    return records[0]


async def _jobs(plane: Plane, workflow: Workflow) -> dict[str, Job]:
    found = {}
    for step in workflow.steps:
        if job := await plane.store.run(workflow.cluster, step.run_id):
            found[step.run_id] = await _whole(plane, workflow.cluster, job)
    return found


async def _whole(plane: Plane, cluster: str, job: Job) -> Job:
    """Return the job, or of an array's task what the array comes to."""
    if job.array_id is None:
        return job
    of_array = Term(field="array", op=Op.IS, values=(job.array_id,))
    page = await plane.store.jobs(cluster, JobQuery(terms=(of_array,), limit=MOST_TASKS))
    # Slurm starts its ids over some day, so one id may have been that of two arrays.
    return array_as_one([each for each in page.jobs if each.run_id == job.run_id])

"""Why a job waits, over HTTP."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from clusterra.api import body
from clusterra.api.admit import Guarded, caller_of
from clusterra.api.door import plane_of
from clusterra.control.explain import explain_job
from clusterra.wire.why import WhyView

router = APIRouter(prefix="/v1/clusters/{cluster}/jobs", tags=["jobs"], route_class=Guarded)


@router.get("/{job_id}/why", response_model=WhyView)
async def why(request: Request, cluster: str, job_id: str) -> Response:
    """Say why a job waits, from what that follows, when it may start, and what would help."""
    plane = plane_of(request)
    found = await explain_job(
        plane.site(cluster), job_id, caller_of(request), store=plane.store, clock=plane.clock
    )
    return body.json(WhyView.of(found.job, found.why, plane.clock.now()))

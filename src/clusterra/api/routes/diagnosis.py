"""Why a job failed, over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from clusterra.api import body
from clusterra.api.admit import Guarded, caller_of
from clusterra.api.diagnosis_view import diagnosis_view
from clusterra.api.door import plane_of
from clusterra.control.diagnosis import diagnose_job
from clusterra.wire.diagnosis import DiagnosisView

router = APIRouter(prefix="/v1/clusters/{cluster}/jobs", tags=["jobs"], route_class=Guarded)


@router.get("/{job_id}/diagnosis", response_model=DiagnosisView)
async def diagnosis(
    request: Request,
    cluster: str,
    job_id: str,
    as_is: Annotated[
        bool, Query(description="Propose the job as it was, without the fix.")
    ] = False,
) -> Response:
    """Say why a job failed, what it cost, and how to submit it again so that it may succeed.

    `resubmit.body` can be posted to `/jobs/submit` by the job's owner. A job that has not failed
    is answered too.
    """
    plane = plane_of(request)
    found = await diagnose_job(
        plane.site(cluster),
        job_id,
        caller_of(request),
        store=plane.store,
        requests=plane.requests,
        clock=plane.clock,
        as_is=as_is,
    )
    return body.json(diagnosis_view(found))

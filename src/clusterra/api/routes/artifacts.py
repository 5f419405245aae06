"""What a job left behind, over HTTP."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from clusterra.api import body
from clusterra.api.admit import Guarded, caller_of
from clusterra.api.door import plane_of
from clusterra.control.find import find_job
from clusterra.core.access import check_may_read_output
from clusterra.core.files.kept import KeptFile
from clusterra.core.files.place import Location
from clusterra.wire.files import ArtifactPage, ArtifactView

router = APIRouter(prefix="/v1/clusters/{cluster}/jobs", tags=["jobs"], route_class=Guarded)


@router.get("/{job_id}/artifacts", response_model=ArtifactPage)
async def list_artifacts(request: Request, cluster: str, job_id: str) -> Response:
    """List the files that a job declared and left behind; its owner downloads them as files.

    There are none before its end, and none of a job that declared none.
    """
    plane, caller = plane_of(request), caller_of(request)
    job = await find_job(plane.site(cluster), job_id, caller, store=plane.store)
    check_may_read_output(caller, job)
    found = await plane.artifacts[cluster].left_by(job)
    files = [_view(each) for each in found.files] if found else []
    return body.json(
        ArtifactPage(
            artifacts=files, total=len(files), complete=found is not None and found.is_over
        )
    )


def _view(file: KeptFile) -> ArtifactView:
    return ArtifactView(
        key=file.key,
        role=file.role,
        name=file.name,
        size=file.size,
        sha256=file.sha256,
        kept=file.kept,
        location=Location.OUTPUTS.value,
        path=file.path,
        why_not=file.why_not,
    )

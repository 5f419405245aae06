"""The proof of a ledger over HTTP: exports that anybody can verify, and what was signed.

Each cluster has a ledger, and each workspace one for its people; both are proved alike.
"""

from collections import deque
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response, StreamingResponse

from clusterra.api import body
from clusterra.api.admit import Guarded
from clusterra.api.door import plane_of
from clusterra.control.export import export
from clusterra.control.plane import Plane
from clusterra.core.events.checkpoint import read_note
from clusterra.core.people.person import ledger_of
from clusterra.wire.ledger import CheckpointPage, CheckpointView

router = APIRouter(tags=["events"], route_class=Guarded)

TEXT = "text/plain; charset=utf-8"
EXPORTED: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/plain": {"schema": {"type": "string"}}}}
}

After = Annotated[int, Query(ge=0, description="Only events with a higher number.")]
Until = Annotated[
    int | None, Query(ge=0, description="The last event; left out, all that are signed.")
]
Newest = Annotated[int, Query(ge=1, le=1000)]


@router.get("/v1/clusters/{cluster}/events/export", response_class=Response, responses=EXPORTED)
async def export_events(
    request: Request, cluster: str, after: After = 0, until: Until = None
) -> Response:
    """Return the ledger with its hashes and checkpoints, as lines that can be verified offline.

    Without `until` it is signed first, so that the export covers itself.
    """
    return await _exported(plane_of(request), cluster, after, until)


@router.get("/v1/workspaces/{workspace}/events/export", response_class=Response, responses=EXPORTED)
async def export_people(
    request: Request, workspace: str, after: After = 0, until: Until = None
) -> Response:
    """Return the ledger of a workspace's people, as lines that can be verified offline."""
    return await _exported(plane_of(request), ledger_of(workspace), after, until)


@router.get("/v1/clusters/{cluster}/events/checkpoints", response_model=CheckpointPage)
async def list_checkpoints(request: Request, cluster: str, limit: Newest = 100) -> Response:
    """Return the newest checkpoints and the key that signed them."""
    return await _signed(plane_of(request), cluster, limit)


@router.get("/v1/workspaces/{workspace}/events/checkpoints", response_model=CheckpointPage)
async def list_people_checkpoints(
    request: Request, workspace: str, limit: Newest = 100
) -> Response:
    """Return the newest checkpoints of a workspace's ledger and the key that signed them."""
    return await _signed(plane_of(request), ledger_of(workspace), limit)


async def _exported(plane: Plane, id: str, after: int, until: int | None) -> Response:
    ledger = plane.ledgers[id]
    if until is None:
        await ledger.sign()
    lines = await export(
        id,
        after=after,
        until=until,
        signed=ledger.signed,
        key=ledger.key,
        store=plane.store,
        archive=plane.archive,
    )
    named = {"content-disposition": f'attachment; filename="{id.rpartition("/")[2]}.ledger"'}
    return StreamingResponse(lines, headers=named, media_type=TEXT)


async def _signed(plane: Plane, id: str, limit: int) -> Response:
    ledger = plane.ledgers[id]
    newest: deque[str] = deque(maxlen=limit)
    async for note in plane.archive.checkpoints(id):
        newest.append(note)
    return body.json(
        CheckpointPage(
            origin=ledger.key.name,
            key=str(ledger.key),
            checkpoints=[_view(note) for note in newest],
            held=ledger.why_held,
        )
    )


def _view(note: str) -> CheckpointView:
    checkpoint = read_note(note).checkpoint
    return CheckpointView(
        size=checkpoint.size, root=checkpoint.root.hex(), signed_at=checkpoint.at, note=note
    )

"""The proof of the ledger over HTTP: exports that anybody can verify, and what was signed."""

from collections import deque
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response, StreamingResponse

from clusterra.api import body
from clusterra.api.door import caller_of, plane_of
from clusterra.control.checkpoint import Checkpointer
from clusterra.control.export import export
from clusterra.core.errors import Forbidden
from clusterra.core.events.checkpoint import read_note
from clusterra.wire.ledger import CheckpointPage, CheckpointView

router = APIRouter(prefix="/v1/clusters/{cluster}/events", tags=["events"])

TEXT = "text/plain; charset=utf-8"


@router.get(
    "/export",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def export_events(
    request: Request,
    cluster: str,
    after: Annotated[int, Query(ge=0, description="Only events with a higher number.")] = 0,
    until: Annotated[
        int | None, Query(ge=0, description="The last event; left out, all that are signed.")
    ] = None,
) -> Response:
    """Return the ledger with its hashes and checkpoints, as lines that can be verified offline.

    Without `until` it is signed first, so that the export covers itself.
    """
    plane = plane_of(request)
    ledger = await _ledger(request, cluster)
    if until is None:
        await ledger.sign()
    lines = await export(
        cluster,
        after=after,
        until=until,
        signed=ledger.signed,
        key=ledger.key,
        store=plane.store,
        archive=plane.archive,
    )
    named = {"content-disposition": f'attachment; filename="{cluster}.ledger"'}
    return StreamingResponse(lines, headers=named, media_type=TEXT)


@router.get("/checkpoints", response_model=CheckpointPage)
async def list_checkpoints(
    request: Request, cluster: str, limit: Annotated[int, Query(ge=1, le=1000)] = 100
) -> Response:
    """Return the newest checkpoints and the key that signed them."""
    plane = plane_of(request)
    ledger = await _ledger(request, cluster)
    newest: deque[str] = deque(maxlen=limit)
    async for note in plane.archive.checkpoints(cluster):
        newest.append(note)
    return body.json(
        CheckpointPage(
            origin=ledger.key.name,
            key=str(ledger.key),
            checkpoints=[_view(note) for note in newest],
            held=ledger.why_held,
        )
    )


async def _ledger(request: Request, cluster: str) -> Checkpointer:
    """Return a cluster's ledger to an administrator: all that everybody did is in it."""
    plane = plane_of(request)
    if not caller_of(request, plane.site(cluster)).admin:
        raise Forbidden(
            "Only an administrator may take the whole ledger away.",
            hint="`clusterra events list` shows what you may see of it.",
        )
    return plane.ledgers[cluster]


def _view(note: str) -> CheckpointView:
    checkpoint = read_note(note).checkpoint
    return CheckpointView(
        size=checkpoint.size, root=checkpoint.root.hex(), signed_at=checkpoint.at, note=note
    )

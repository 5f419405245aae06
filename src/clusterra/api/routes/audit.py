"""Who did what, over HTTP: the ledgers of one's workspaces and their clusters together."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from clusterra.api import cursor as cursors
from clusterra.api.admit import Guarded, guest_of, in_workspace
from clusterra.api.asked import LARGEST, filters
from clusterra.api.door import plane_of
from clusterra.api.event_page import event_page
from clusterra.control.people.audit import Allowed, audit
from clusterra.control.people.directory import no_such_workspace
from clusterra.core.access import Caller, Deed
from clusterra.core.events.access import may_read
from clusterra.core.events.event import Event, EventQuery
from clusterra.core.people.person import ledger_of
from clusterra.wire.events import EventPage

router = APIRouter(prefix="/v1/audit", tags=["people"], route_class=Guarded)


@router.get("", response_model=EventPage)
async def show_audit(
    request: Request,
    query: Annotated[EventQuery, Depends(filters)],
    workspace: Annotated[str, Query(description="Only of this workspace.")] = "",
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    cursor: Annotated[str, Query(description="`next` of the page before.")] = "",
) -> Response:
    """List who did what, newest first: signed in, granted, submitted, cancelled.

    Admins and owners see everybody's acts, others their own. What no person did (a job that
    started by itself) is left out, unless `actor` asks for it.
    """
    plane, guest = plane_of(request), guest_of(request)
    mine = guest.workspaces(plane.people)
    if workspace and workspace not in mine:
        raise no_such_workspace(workspace)
    ledgers: dict[str, Allowed] = {}
    for id in [workspace] if workspace else mine:
        caller = in_workspace(guest, plane, Deed.SEE_EVENTS, workspace=id)
        clusters = [site.cluster.id for site in plane.sites.values() if site.workspace == id]
        ledgers[ledger_of(id)] = partial(may_read, caller)
        ledgers |= dict.fromkeys(clusters, partial(_acts, caller, everything=bool(query.actor)))
    found = await audit(
        ledgers, replace(query, limit=limit), before=_read(cursor), store=plane.store
    )
    return event_page(found.events, None if found.next is None else cursors.pack(found.next))


def _acts(caller: Caller, event: Event, *, everything: bool) -> bool:
    """Say whether an event of a cluster is somebody's act, and one that the caller may know."""
    if not everything and not event.actor.startswith("user:"):
        return False
    return caller.admin or event.actor == caller.actor


def _read(text: str) -> Mapping[str, int]:
    left = cursors.unpack(text, dict[str, int]) if text else {}
    if not all(0 < number <= LARGEST for number in left.values()):
        raise cursors.wrong("This cursor was not made here.")
    return left

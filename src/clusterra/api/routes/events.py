"""The ledger over HTTP, by the page: all of it, and one job's part of it. (Live: `api/sse.py`.)

Events are handed out as they are stored, byte for byte: what a client reads here is
what the ledger's hashes are made of.
"""

from dataclasses import replace
from functools import partial
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from clusterra.api import problems
from clusterra.api.admit import Guarded, caller_of
from clusterra.api.asked import After, filters, read_cursor, write_cursor
from clusterra.api.door import plane_of
from clusterra.api.event_page import event_page
from clusterra.control.find import find_job
from clusterra.control.recall import (
    Recalled,
    TooOld,
    check_readable,
    of_job,
    recall,
    recall_newest,
)
from clusterra.core.errors import Invalid
from clusterra.core.events.access import may_read
from clusterra.core.events.event import EventQuery
from clusterra.wire.events import EventPage, TooOldProblem

router = APIRouter(prefix="/v1/clusters/{cluster}", tags=["events"], route_class=Guarded)

Wanted = Annotated[EventQuery, Depends(filters)]
Limit = Annotated[int, Query(ge=1, le=1000)]
Cursor = Annotated[str, Query(alias="cursor", description="`next` of the page before.")]

GONE: dict[int | str, dict[str, Any]] = {
    410: {
        "description": "Events after this position are sealed away.",
        "content": {
            "application/problem+json": {
                "schema": {"$ref": f"#/components/schemas/{TooOldProblem.__name__}"}
            }
        },
    }
}


@router.get("/events", response_model=EventPage, responses=GONE)
async def list_events(
    request: Request,
    cluster: str,
    query: Wanted,
    after: After = None,
    last: Annotated[
        int | None, Query(ge=1, le=1000, description="Only so many, the newest that match.")
    ] = None,
    limit: Limit = 100,
    cursor: Cursor = "",
) -> Response:
    """List what happened, oldest first."""
    plane = plane_of(request)
    allowed = partial(may_read, caller_of(request))
    if last is not None:
        if after is not None or cursor:
            raise Invalid(
                "`last` counts from the end, `after` and `cursor` from a position.",
                hint="Leave one of them out.",
                at="last",
            )
        newest = replace(query, limit=last)
        return _page(await recall_newest(cluster, newest, allowed, store=plane.store))
    position = read_cursor(cursor) if cursor else after
    if position is not None:
        try:
            await check_readable(cluster, position, store=plane.store)
        except TooOld as error:
            return _gone(error)
    asked = replace(query, after=position or 0, limit=limit)
    return _page(await recall(cluster, asked, allowed, store=plane.store))


@router.get("/jobs/{job_id}/events", response_model=EventPage)
async def job_events(
    request: Request, cluster: str, job_id: str, limit: Limit = 1000, cursor: Cursor = ""
) -> Response:
    """Return what happened to one job, from its submission on."""
    plane = plane_of(request)
    site = plane.site(cluster)
    caller = caller_of(request)
    allowed = partial(may_read, caller)
    job = await find_job(site, job_id, caller, store=plane.store)
    asked = replace(of_job(job), after=read_cursor(cursor) if cursor else 0, limit=limit)
    return _page(await recall(cluster, asked, allowed, store=plane.store))


def _page(found: Recalled) -> Response:
    return event_page(found.events, None if found.next is None else write_cursor(found.next))


def _gone(error: TooOld) -> Response:
    told = problems.respond(error, 410)
    problem = msgspec.convert(
        msgspec.json.decode(bytes(told.body))
        | {"oldest": error.oldest, "cursor": write_cursor(error.oldest - 1)},
        TooOldProblem,
    )
    return Response(msgspec.json.encode(problem), 410, media_type=told.media_type)

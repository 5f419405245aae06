"""Webhooks over HTTP: whom to tell, of what; what became of it; and telling again."""

from dataclasses import replace
from datetime import timedelta
from typing import Annotated

import msgspec
from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from clusterra.api import body, cursor
from clusterra.api.admit import Guarded, guest_of, in_workspace
from clusterra.api.asked import moment
from clusterra.api.door import plane_of
from clusterra.api.guest import OPERATOR, Guest
from clusterra.api.openapi import takes
from clusterra.api.webhook_view import (
    Reader,
    delivery_view,
    detail_view,
    tested_view,
    webhook_view,
)
from clusterra.api.workspace_meant import workspace_meant, workspaces_meant
from clusterra.control.plane import Plane
from clusterra.control.webhooks.endpoints import no_such_webhook
from clusterra.control.webhooks.replay import Again
from clusterra.core.access import Caller, Deed, may_keep
from clusterra.core.errors import Invalid, NotFound
from clusterra.core.events.interest import Interest, check_types, tidied
from clusterra.core.events.severity import Severity
from clusterra.core.named import one_of
from clusterra.core.quote import shown
from clusterra.core.webhooks.delivery import OPEN, DeliveryQuery, DeliveryState, place_of
from clusterra.core.webhooks.endpoint import Endpoint, EndpointState
from clusterra.core.webhooks.wish import Edit, Wish, format_named
from clusterra.wire.webhooks import (
    AddWebhook,
    DeliveryDetail,
    DeliveryPage,
    EditWebhook,
    EventTriggered,
    Replay,
    Replayed,
    RotateSecret,
    SecretRotated,
    TestWebhook,
    TriggerEvent,
    WebhookChanged,
    WebhookDeleted,
    WebhookMade,
    WebhookPage,
    WebhookTested,
    WebhookView,
)

router = APIRouter(prefix="/v1/webhooks", tags=["webhooks"], route_class=Guarded)


@router.get("", response_model=WebhookPage)
async def list_webhooks(request: Request, workspace: str = "") -> Response:
    """List one's webhooks; for admins, all of the workspace's."""
    plane, guest = plane_of(request), guest_of(request)
    views = [
        await webhook_view(plane, endpoint)
        for id, caller in workspaces_meant(guest, plane, Deed.SEE_WEBHOOKS, workspace)
        for endpoint in plane.webhooks.endpoints.of(id)
        if may_keep(caller.role, endpoint.owner, guest.person.id)
    ]
    return body.json(WebhookPage(webhooks=views, total=len(views)))


@router.post("", status_code=201, response_model=WebhookMade, openapi_extra=takes(AddWebhook))
async def add_webhook(request: Request) -> Response:
    """Add a webhook. Its secret is shown this once."""
    plane, guest = plane_of(request), guest_of(request)
    wanted = body.decode(await body.read(request), AddWebhook)
    workspace = wanted.workspace or workspace_meant(guest, plane)
    caller = in_workspace(guest, plane, Deed.KEEP_WEBHOOKS, workspace=workspace)
    wish = Wish(
        url=wanted.url.strip(),
        format=format_named(wanted.format),
        name=wanted.name,
        interest=_interest(plane, workspace, wanted, Interest()),
        ordered=wanted.ordered,
        ed25519=wanted.ed25519,
        allow_private=wanted.allow_private,
        zone=wanted.zone,
        per_second=wanted.per_second,
        credential=wanted.credential,
    )
    made, secret = await plane.webhooks.endpoints.make(
        wish,
        workspace,
        guest.person,
        by=guest.doer(caller.role),
        runs_the_server=guest.by == OPERATOR,
    )
    view = await webhook_view(plane, made)
    return body.json(WebhookMade(webhook=view, id=made.id, secret=secret), 201)


@router.post("/trigger", response_model=EventTriggered, openapi_extra=takes(TriggerEvent))
async def trigger(request: Request) -> Response:
    """Make up an event and send it, once, to every webhook of one's own that would hear of it."""
    plane, guest = plane_of(request), guest_of(request)
    wanted = body.decode(await body.read(request), TriggerEvent)
    workspace = wanted.workspace or workspace_meant(guest, plane)
    caller = in_workspace(guest, plane, Deed.KEEP_WEBHOOKS, workspace=workspace)
    event = plane.webhooks.made_up(wanted.type, workspace, guest.person)
    results = []
    for endpoint in plane.webhooks.hears(workspace, event):
        if may_keep(caller.role, endpoint.owner, guest.person.id):
            sent = await plane.webhooks.try_once(endpoint, event)
            results.append(tested_view(plane, endpoint, event, sent, Reader.of(guest)))
    made_up = msgspec.json.decode(event.body)
    return body.json(EventTriggered(type=event.type, event=made_up, results=results))


@router.get("/{webhook}", response_model=WebhookView)
async def show_webhook(request: Request, webhook: str) -> Response:
    """Return one webhook."""
    plane, _, _, endpoint = _one(request, webhook, Deed.SEE_WEBHOOKS)
    return body.json(await webhook_view(plane, endpoint))


@router.patch("/{webhook}", response_model=WebhookChanged, openapi_extra=takes(EditWebhook))
async def edit_webhook(request: Request, webhook: str) -> Response:
    """Change a webhook, pause it, or make it active again; then what was kept is delivered."""
    plane, guest, caller, endpoint = _one(request, webhook, Deed.KEEP_WEBHOOKS)
    wanted = body.decode(await body.read(request), EditWebhook)
    by, endpoints = guest.doer(caller.role), plane.webhooks.endpoints
    state = _state(wanted.state)
    edit = Edit(
        url=None if wanted.url is None else wanted.url.strip(),
        name=wanted.name,
        interest=_interest(plane, endpoint.workspace, wanted, endpoint.interest),
        ordered=wanted.ordered,
        ed25519=wanted.ed25519,
        allow_private=wanted.allow_private,
        zone=wanted.zone,
        per_second=wanted.per_second,
        credential=wanted.credential,
    )
    changed = await endpoints.edit(endpoint.id, edit, by=by, runs_the_server=guest.by == OPERATOR)
    replaying = 0
    if state is EndpointState.PAUSED:
        changed = await endpoints.turn(endpoint.id, state, by=by)
    elif state is EndpointState.ACTIVE:
        changed, replaying = await plane.webhooks.resume(endpoint.id, by=by, replay=wanted.replay)
    view = await webhook_view(plane, changed)
    return body.json(WebhookChanged(webhook=view, replaying=replaying))


@router.delete("/{webhook}", response_model=WebhookDeleted)
async def delete_webhook(request: Request, webhook: str) -> Response:
    """Remove a webhook, and what waits for it."""
    plane, guest, caller, endpoint = _one(request, webhook, Deed.KEEP_WEBHOOKS)
    tally = await plane.store.delivery_tally(endpoint.id)
    await plane.webhooks.remove(endpoint.id, by=guest.doer(caller.role))
    dropped = sum(tally.get(state, 0) for state in (*OPEN, DeliveryState.KEPT))
    return body.json(WebhookDeleted(id=endpoint.id, name=endpoint.name, dropped=dropped))


@router.post("/{webhook}/rotate", response_model=SecretRotated, openapi_extra=takes(RotateSecret))
async def rotate(request: Request, webhook: str) -> Response:
    """Make a new secret. The old one is signed with too, for as long as is said."""
    plane, guest, caller, endpoint = _one(request, webhook, Deed.KEEP_WEBHOOKS)
    wanted = body.decode(await body.read(request) or b"{}", RotateSecret)
    overlap = _hours(wanted.overlap_hours)
    secret, until = await plane.webhooks.endpoints.rotate(
        endpoint.id, overlap, by=guest.doer(caller.role)
    )
    return body.json(SecretRotated(id=endpoint.id, secret=secret, old_until=until))


@router.post("/{webhook}/test", response_model=WebhookTested, openapi_extra=takes(TestWebhook))
async def try_webhook(request: Request, webhook: str) -> Response:
    """Make up an event and send it once, now. It is in no ledger, and nothing of it is kept."""
    plane, guest, _, endpoint = _one(request, webhook, Deed.KEEP_WEBHOOKS)
    wanted = body.decode(await body.read(request) or b"{}", TestWebhook)
    event = plane.webhooks.made_up(wanted.type, endpoint.workspace, guest.person)
    sent = await plane.webhooks.try_once(endpoint, event)
    return body.json(tested_view(plane, endpoint, event, sent, Reader.of(guest)))


@router.get("/{webhook}/deliveries", response_model=DeliveryPage)
async def list_deliveries(
    request: Request,
    webhook: str,
    state: Annotated[
        list[str] | None, Query(description="`pending`, `retry`, `ok`, `dead` or `kept`.")
    ] = None,
    types: Annotated[
        list[str] | None, Query(alias="type", description="A type, or a glob as `job.*`.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
    cursor_: Annotated[str, Query(alias="cursor", description="`next` of the page before.")] = "",
) -> Response:
    """List what was to be told to a webhook, the newest first."""
    plane, _, _, endpoint = _one(request, webhook, Deed.SEE_WEBHOOKS)
    check_types(types or (), at="type")
    query = DeliveryQuery(
        endpoint=endpoint.id,
        states=tuple(
            one_of(DeliveryState, each, what="state of deliveries", at="state")
            for each in state or ()
        ),
        types=tuple(types or ()),
        after=cursor.unpack(cursor_, tuple[int, str, int]) if cursor_ else None,
        limit=limit + 1,
    )
    found = await plane.store.deliveries(query)
    more = len(found) > limit
    return body.json(
        DeliveryPage(
            deliveries=[delivery_view(each) for each in found[:limit]],
            next=cursor.pack(place_of(found[limit - 1])) if more else None,
        )
    )


@router.get("/{webhook}/deliveries/{event}", response_model=DeliveryDetail)
async def show_delivery(request: Request, webhook: str, event: str) -> Response:
    """Return a delivery with every attempt."""
    plane, guest, _, endpoint = _one(request, webhook, Deed.SEE_WEBHOOKS)
    delivery = await plane.store.delivery(endpoint.id, event)
    if delivery is None:
        raise NotFound(
            f"{endpoint.name} has no delivery of the event {event[:64]!r}.",
            hint="`clusterra webhooks deliveries` lists them.",
            code="delivery-not-found",
        )
    attempts = await plane.store.attempts(endpoint.id, event)
    there = await plane.store.events_at(delivery.ledger, [delivery.seq])
    told = there.get(delivery.seq)
    return body.json(detail_view(delivery, attempts, told, endpoint, Reader.of(guest)))


@router.post("/{webhook}/replay", response_model=Replayed, openapi_extra=takes(Replay))
async def replay(request: Request, webhook: str) -> Response:
    """Deliver again: one event, all that failed since a moment, or all that were never told."""
    plane, _, _, endpoint = _one(request, webhook, Deed.KEEP_WEBHOOKS)
    wanted = body.decode(await body.read(request), Replay)
    check_types(wanted.types)
    again = await _replayed(plane, endpoint, wanted)
    return body.json(
        Replayed(
            count=again.count,
            dry_run=wanted.dry_run,
            first_at=again.first_at,
            last_at=again.last_at,
        )
    )


async def _replayed(plane: Plane, endpoint: Endpoint, wanted: Replay) -> Again:
    replayer, types, dry_run = plane.webhooks.replayer, wanted.types, wanted.dry_run
    said = [wanted.event_id, wanted.failed_since, wanted.missing_since]
    if sum(map(bool, said)) != 1:
        raise Invalid(
            "What to replay is not said, or said twice.",
            hint="Send one of event_id, failed_since and missing_since.",
            at="event_id",
        )
    now = plane.clock.now()
    if since := moment(wanted.failed_since, now, at="failed_since"):
        return await replayer.failed(endpoint, since, types, dry_run=dry_run)
    if since := moment(wanted.missing_since, now, at="missing_since"):
        return await replayer.missing(endpoint, since, types, dry_run=dry_run)
    return await replayer.one(endpoint, wanted.event_id, dry_run=dry_run)


# --- reading requests


def _one(request: Request, webhook: str, deed: Deed) -> tuple[Plane, Guest, Caller, Endpoint]:
    """Return a webhook that is there for whoever asks: their own, and for admins all."""
    plane, guest = plane_of(request), guest_of(request)
    endpoint = plane.webhooks.endpoints.find(webhook)
    if endpoint is None:
        raise no_such_webhook(webhook)
    role = guest.role_in(plane.people, endpoint.workspace)
    if role is None or not may_keep(role, endpoint.owner, guest.person.id):
        raise no_such_webhook(webhook)
    return plane, guest, in_workspace(guest, plane, deed, workspace=endpoint.workspace), endpoint


def _interest(
    plane: Plane, workspace: str, wanted: AddWebhook | EditWebhook, known: Interest
) -> Interest:
    """Return which events are meant; what is not said stays as it is known."""
    parts = ("types", "clusters", "people", "partitions", "states", "names")
    said = {
        name: tuple(entries) for name in parts if (entries := getattr(wanted, name)) is not None
    }
    if "clusters" in said:
        said["clusters"] = tuple(
            plane.cluster_in(workspace, each, at="clusters") for each in said["clusters"]
        )
    severity = known.severity
    if wanted.severity:
        severity = one_of(Severity, wanted.severity, what="severity", at="severity")
    return tidied(replace(known, **said, severity=severity))


def _state(text: str | None) -> EndpointState | None:
    if text is None:
        return None
    if text not in (EndpointState.ACTIVE, EndpointState.PAUSED):
        raise Invalid(
            f"A webhook cannot be made {shown(text)}.", hint="Say active or paused.", at="state"
        )
    return EndpointState(text)


def _hours(hours: float) -> timedelta:
    try:
        return timedelta(hours=hours)
    except (OverflowError, ValueError):
        raise Invalid(
            f"{hours:g} hours are too long.", hint="Say up to 720.", at="overlap_hours"
        ) from None

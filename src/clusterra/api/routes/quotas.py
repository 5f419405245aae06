"""Quotas over HTTP: how people stand, what they may spend, and more for a while."""

from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from clusterra.api import body
from clusterra.api.admit import Guarded, caller_of, guest_of
from clusterra.api.door import plane_of
from clusterra.api.openapi import takes
from clusterra.api.quota_view import WORKSPACE_WORD, everybodys_view, quota_view
from clusterra.control.people.doing import Doer
from clusterra.control.plane import Plane
from clusterra.core.cost.quota import WORKSPACE
from clusterra.core.cost.quota_edit import AMOUNTS, EVERYBODY, QuotaEdit, check_currency
from clusterra.core.errors import Forbidden, Invalid, NotFound
from clusterra.wire.quotas import EditQuota, QuotaChanged, QuotaPage, QuotaView, RaiseQuota

router = APIRouter(prefix="/v1/workspaces/{workspace}/quotas", tags=["quotas"], route_class=Guarded)


@router.get("", response_model=QuotaPage)
async def list_quotas(request: Request, workspace: str) -> Response:
    """List quotas and how people stand: for admins everybody's, for others one's own and the workspace's."""
    plane, caller = plane_of(request), caller_of(request)
    quotas = await plane.quotas.of(workspace)
    if caller.admin:
        standings = await plane.quotas.standings(workspace, _members(plane, workspace))
        views = [quota_view(quotas, standings[whose]) for whose in sorted(standings)]
        views.insert(1, everybodys_view(quotas))
    else:
        views = [
            quota_view(quotas, await plane.quotas.standing(workspace, whose))
            for whose in (caller.email, WORKSPACE)
        ]
    return body.json(
        QuotaPage(
            workspace=workspace,
            zone=quotas.zone,
            waste_per_day_micros=quotas.waste_per_day,
            quotas=views,
            total=len(views),
        )
    )


@router.get("/{person}", response_model=QuotaView)
async def show_quota(request: Request, workspace: str, person: str) -> Response:
    """Return one quota; `person` is an e-mail or an id, `everybody` or `workspace`."""
    plane = plane_of(request)
    whose = await _whose(request, workspace, person)
    return body.json(await _view(plane, workspace, whose))


@router.patch("", response_model=QuotaChanged, openapi_extra=takes(EditQuota))
async def edit_workspace_quota(request: Request, workspace: str) -> Response:
    """Change what all people of a workspace may spend together, and where its days begin."""
    return await _edited(request, workspace, WORKSPACE_WORD)


@router.patch("/{person}", response_model=QuotaChanged, openapi_extra=takes(EditQuota))
async def edit_quota(request: Request, workspace: str, person: str) -> Response:
    """Change what somebody may spend, and what follows. Below what is spent is allowed."""
    return await _edited(request, workspace, person)


@router.post("/{person}/raise", response_model=QuotaChanged, openapi_extra=takes(RaiseQuota))
async def raise_quota(request: Request, workspace: str, person: str) -> Response:
    """Allow somebody more than the limit of the month for a while; 0 ends that."""
    plane = plane_of(request)
    wanted = body.decode(await body.read(request), RaiseQuota)
    check_currency(wanted.currency)
    whose = await _whose(request, workspace, person)
    if whose == EVERYBODY:
        raise Invalid(
            "A raise is somebody's: everybody's limit is changed, and not raised.",
            hint="Name a person, or set everybody's month.",
            at="person",
        )
    await plane.quotas.allow_more(
        workspace,
        whose,
        micros=wanted.micros,
        until=_until(wanted, plane.clock.now()),
        why=wanted.why.strip(),
        by=_doer(request),
    )
    return await _changed(plane, workspace, whose, ())


async def _edited(request: Request, workspace: str, person: str) -> Response:
    plane = plane_of(request)
    raw = await body.read(request)
    wanted, said = body.decode(raw, EditQuota), body.decode_object(raw)
    check_currency(wanted.currency)
    whose = await _whose(request, workspace, person)
    if wanted.own is False:
        changed = await plane.quotas.take_away(workspace, whose, by=_doer(request))
    else:
        changed = await plane.quotas.set(
            workspace, whose, _edit(wanted, said), by=_doer(request), why=wanted.why.strip()
        )
    return await _changed(plane, workspace, whose, changed)


async def _changed(plane: Plane, workspace: str, whose: str, changed: tuple[str, ...]) -> Response:
    return body.json(
        QuotaChanged(
            quota=await _view(plane, workspace, whose),
            changed=list(changed),
            warnings=list(await plane.quotas.follows(workspace, whose)),
        )
    )


async def _view(plane: Plane, workspace: str, whose: str) -> QuotaView:
    quotas = await plane.quotas.of(workspace)
    if whose == EVERYBODY:
        return everybodys_view(quotas)
    return quota_view(quotas, await plane.quotas.standing(workspace, whose))


def _edit(wanted: EditQuota, said: dict[str, Any]) -> QuotaEdit:
    """Tell a limit that is to be lifted from one that is not spoken of."""
    waste = "waste_per_day"
    return QuotaEdit(
        amounts={
            name: getattr(wanted, f"{name}_micros") for name in AMOUNTS if f"{name}_micros" in said
        },
        mode=wanted.mode,
        buffer_percent=wanted.buffer_percent,
        grace_seconds=wanted.grace_seconds,
        zone=wanted.zone,
        waste_per_day={waste: wanted.waste_per_day_micros} if f"{waste}_micros" in said else {},
    )


async def _whose(request: Request, workspace: str, person: str) -> str:
    """Return whose quota is meant: also of somebody who is no person here, if they have spent."""
    plane, caller = plane_of(request), caller_of(request)
    if person == WORKSPACE_WORD:
        return WORKSPACE
    directory, name = plane.people.directory, person.strip()
    named = directory.person(name)
    email = named.email if named else name.lower()
    if not caller.admin and email not in (caller.email, EVERYBODY):
        raise Forbidden(
            f"What {person[:64]!r} spends is for them and for admins; you are {caller.email}.",
            hint="See your own with `clusterra quota get`.",
            code="foreign-quota",
        )
    members = _members(plane, workspace)
    if email in (*members, EVERYBODY):
        return email
    known = await plane.quotas.standings(workspace, members)
    if name and name in known:
        return name
    near = get_close_matches(name, known, n=1)
    raise NotFound(
        f"There is no {person[:64]!r} in {workspace}.",
        hint=f"Did you mean {near[0]}?"
        if near
        else "`clusterra quota get` lists everybody; `clusterra people list` those in it.",
        code="person-not-found",
    )


def _members(plane: Plane, workspace: str) -> list[str]:
    directory = plane.people.directory
    found = (directory.person(each.person) for each in directory.members(workspace))
    return [person.email for person in found if person is not None]


def _until(wanted: RaiseQuota, now: datetime) -> datetime:
    if wanted.until is not None and wanted.days is None:
        until = wanted.until
        return until.astimezone(UTC) if until.tzinfo else until.replace(tzinfo=UTC)
    if wanted.days is not None and wanted.until is None:
        try:
            return now + timedelta(days=wanted.days)
        except OverflowError:
            raise Invalid(
                f"A raise cannot last {wanted.days} days.", hint="Say up to 366.", at="days"
            ) from None
    if wanted.micros == 0:
        return now
    raise Invalid(
        "For how long is not said."
        if wanted.until is None
        else "Both an end and a number of days are said.",
        hint="Say either until, as 2026-12-01T00:00:00Z, or days.",
        at="until",
    )


def _doer(request: Request) -> Doer:
    return guest_of(request).doer(caller_of(request).role)

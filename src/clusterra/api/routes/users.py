"""Oneself over HTTP: profile, tokens, sessions, a link to sign in with elsewhere."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from zoneinfo import ZoneInfo

from fastapi import APIRouter, Request
from starlette.responses import Response

from clusterra.api import body
from clusterra.api.admit import Guarded, guest_of
from clusterra.api.cookies import public_url
from clusterra.api.door import plane_of
from clusterra.api.guest import OPERATOR, TOKEN, Guest
from clusterra.api.openapi import takes
from clusterra.api.quota_view import quota_view
from clusterra.api.routes.workspaces import removed
from clusterra.api.usage_asked import Zone
from clusterra.api.usage_view import spending_view
from clusterra.api.views import session_view, token_view, workspace_view
from clusterra.control.cost.spending import spending
from clusterra.control.people.directory import no_such_workspace
from clusterra.control.people.edit import LONGEST_NAME, edit_person
from clusterra.control.plane import Plane
from clusterra.core.access import Role, Scope
from clusterra.core.cost.periods import zone
from clusterra.core.errors import Forbidden, Invalid, NotFound
from clusterra.core.people.credentials import LINK_FOR
from clusterra.core.quote import shown
from clusterra.wire.people import (
    CreateToken,
    EditMe,
    LinkMade,
    Me,
    Removed,
    SessionPage,
    SessionView,
    TokenMade,
    TokenPage,
    TokenView,
)
from clusterra.wire.quotas import QuotaView
from clusterra.wire.usage import SpendingView

router = APIRouter(prefix="/v1/users/me", tags=["people"], route_class=Guarded)

MOST_DAYS = 3650


@router.get("", response_model=Me)
async def show_me(request: Request, tz: Zone = "UTC") -> Response:
    """Return who one is here: identity, Linux user, workspaces, and what one spends."""
    return body.json(await _me(plane_of(request), guest_of(request), zone(tz)))


@router.patch("", response_model=Me, openapi_extra=takes(EditMe))
async def edit_me(request: Request) -> Response:
    """Change one's own name and preferences."""
    plane, guest = plane_of(request), guest_of(request)
    wanted = body.decode(await body.read(request), EditMe)
    person = await edit_person(
        plane.people.directory,
        guest.person.id,
        name=wanted.name,
        preferences=wanted.preferences or {},
    )
    return body.json(await _me(plane, replace(guest, person=person), zone("UTC")))


@router.get("/tokens", response_model=TokenPage)
async def list_tokens(request: Request) -> Response:
    """List one's own tokens; what they are is shown once, when they are made."""
    guest = guest_of(request)
    tokens = plane_of(request).people.directory.tokens_of(guest.person.id)
    tokens = [each for each in tokens if guest.within in ("", each.within)]
    return body.json(TokenPage(tokens=[token_view(each) for each in tokens], total=len(tokens)))


@router.post("/tokens", status_code=201, response_model=TokenMade, openapi_extra=takes(CreateToken))
async def create_token(request: Request) -> Response:
    """Make a token for scripts; it may do no more than one's own role, and what its scopes say."""
    plane, guest = plane_of(request), guest_of(request)
    wanted = body.decode(await body.read(request), CreateToken)
    scopes = _scopes(wanted.scopes, guest)
    within = _within(wanted.workspace or "", plane, guest)
    if wanted.days is not None and not 1 <= wanted.days <= MOST_DAYS:
        raise Invalid(
            f"A token cannot be good for {wanted.days} days.",
            hint=f"Say 1 to {MOST_DAYS}, or null for one that does not end.",
            at="days",
        )
    until = None if wanted.days is None else plane.clock.now() + timedelta(days=wanted.days)
    if guest.by == TOKEN and guest.expires_at and (until is None or until > guest.expires_at):
        until = guest.expires_at  # what a token makes does not outlive it
    secret, token = await plane.people.tokens.make(
        guest.person,
        name=wanted.name.strip()[:LONGEST_NAME],
        scopes=scopes,
        within=within,
        until=until,
        by=guest.doer(Role.MEMBER),
    )
    return body.json(TokenMade(token=secret, info=token_view(token)), 201)


@router.delete("/tokens/{token}", response_model=TokenView)
async def revoke_token(request: Request, token: str) -> Response:
    """Make a token invalid, at once."""
    plane, guest = plane_of(request), guest_of(request)
    revoked = await plane.people.tokens.revoke(
        guest.person, token, within=guest.within, by=guest.doer(Role.MEMBER)
    )
    return body.json(token_view(revoked))


@router.get("/sessions", response_model=SessionPage)
async def list_sessions(request: Request) -> Response:
    """List where one is signed in."""
    guest = guest_of(request)
    sessions = plane_of(request).people.directory.sessions_of(guest.person.id)
    views = [
        session_view(each, current=each.id == guest.credential)
        for each in sessions
        if guest.within in ("", each.within)
    ]
    return body.json(SessionPage(sessions=views, total=len(views)))


@router.delete("/sessions/{session}", response_model=SessionView)
async def end_session(request: Request, session: str) -> Response:
    """Sign out somewhere else."""
    plane, guest = plane_of(request), guest_of(request)
    found = plane.people.directory.session(session)
    mine = found is not None and found.person == guest.person.id
    if found is None or not mine or guest.within not in ("", found.within):
        raise NotFound(
            f"You have no session {session[:64]!r}.",
            hint="`clusterra sessions list` shows yours.",
            code="session-not-found",
        )
    await plane.people.sessions.end(
        found, why="revoked", actor=guest.person.actor, visit=guest.visit
    )
    return body.json(session_view(found, current=found.id == guest.credential))


@router.delete("/workspaces/{workspace}", response_model=Removed)
async def leave(request: Request, workspace: str) -> Response:
    """Leave a workspace. One's jobs go on; what let one in there ends."""
    return await removed(request, workspace, guest_of(request).person.id)


@router.post("/link", status_code=201, response_model=LinkMade)
async def make_link(request: Request) -> Response:
    """Make a one-time link to sign in with in a browser. Only without an identity provider."""
    plane, guest = plane_of(request), guest_of(request)
    if plane.people.provider is not None:
        raise NotFound(
            f"People sign in by {plane.people.provider.name} here; there are no links.",
            hint=f"Open {public_url(request)} and sign in.",
            code="has-provider",
        )
    guest.check_may_open_session()
    until = plane.clock.now() + LINK_FOR
    code = await plane.people.links.make(
        guest.person, within=guest.within, made_by=guest.person.email, until=until
    )
    return body.json(LinkMade(url=f"{public_url(request)}/auth/link/{code}", expires_at=until), 201)


async def _me(plane: Plane, guest: Guest, where: ZoneInfo) -> Me:
    person = guest.person
    return Me(
        id=person.id,
        email=person.email,
        name=person.name,
        login=(login := login_of(plane, guest)),
        uid=plane.people.directory.uid_of(login),
        workspaces=[
            workspace_view(plane, id, role) for id, role in guest.workspaces(plane.people).items()
        ],
        preferences=dict(person.preferences),
        by=guest.by,
        scopes=sorted(guest.scopes),
        expires_at=guest.expires_at,
        spending=await _spending(plane, guest, where),
    )


async def _spending(plane: Plane, guest: Guest, where: ZoneInfo) -> SpendingView:
    mine = guest.workspaces(plane.people)
    sites = [site for site in plane.sites.values() if site.workspace in mine]
    found = await spending(
        {id: [site for site in sites if site.workspace == id] for id in mine},
        {
            site.cluster.id: site.user if guest.by == OPERATOR else guest.person.login
            for site in sites
        },
        now=plane.clock.now(),
        zone=where,
        store=plane.store,
    )
    return spending_view(found, await _quotas(plane, guest, mine), where.key)


async def _quotas(plane: Plane, guest: Guest, mine: Iterable[str]) -> dict[str, QuotaView]:
    """Return what one may spend, where anything is said about that."""
    me = plane.people.directory.payer_of(login_of(plane, guest))
    found: dict[str, QuotaView] = {}
    for id in mine:
        quotas = await plane.quotas.of(id)
        limits = quotas.of(me)
        if {limits.month, limits.day, limits.job, limits.burn} != {None}:
            found[id] = quota_view(quotas, await plane.quotas.standing(id, me))
    return found


def login_of(plane: Plane, guest: Guest) -> str:
    """Return the Linux user that this guest's jobs run as."""
    sites = list(plane.sites.values())
    return sites[0].user if guest.by == OPERATOR and sites else guest.person.login


def _scopes(wanted: list[str], guest: Guest) -> frozenset[Scope]:
    unknown = [each for each in wanted if each not in set(Scope)]
    if unknown:
        raise Invalid(
            f"There is no scope {shown(unknown[0])}.",
            hint=f"The scopes are: {', '.join(Scope)}.",
            at="scopes",
        )
    scopes = frozenset(map(Scope, wanted)) or guest.scopes
    if more := scopes - guest.scopes:
        raise Forbidden(
            f"This token cannot give {', '.join(sorted(more))}, which it does not have.",
            hint="Make it after signing in: clusterra login",
            code="scope",
        )
    return scopes


def _within(wanted: str, plane: Plane, guest: Guest) -> str:
    if guest.within and wanted in ("", guest.within):
        return guest.within
    if wanted and wanted not in guest.workspaces(plane.people):
        raise no_such_workspace(wanted)
    return wanted

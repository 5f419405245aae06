"""Workspaces over HTTP: what they allow, who is in them, as what."""

from datetime import timedelta

from fastapi import APIRouter, Request
from starlette.responses import Response

from clusterra.api import body
from clusterra.api.admit import Guarded, caller_of, guest_of
from clusterra.api.cookies import public_url
from clusterra.api.door import plane_of
from clusterra.api.openapi import takes
from clusterra.api.views import person_view, workspace_view
from clusterra.control.people import edit
from clusterra.control.people.doing import Doer
from clusterra.control.plane import Plane
from clusterra.core.access import ALL_SCOPES, OthersJobs, Role
from clusterra.core.errors import Invalid
from clusterra.core.people.person import Person
from clusterra.core.quote import shown
from clusterra.wire.people import (
    ChangePerson,
    EditWorkspace,
    Invite,
    Invited,
    PeoplePage,
    PersonView,
    Removed,
    WorkspacePage,
    WorkspaceView,
)

router = APIRouter(prefix="/v1/workspaces", tags=["people"], route_class=Guarded)

MOST_MINUTES = 7 * 24 * 60
TOKEN_FOR = timedelta(days=90)


@router.get("", response_model=WorkspacePage)
async def list_workspaces(request: Request) -> Response:
    """List the workspaces one is in."""
    plane = plane_of(request)
    mine = guest_of(request).workspaces(plane.people)
    views = [workspace_view(plane, id, role) for id, role in mine.items()]
    return body.json(WorkspacePage(workspaces=views, total=len(views)))


@router.get("/{workspace}", response_model=WorkspaceView)
async def show_workspace(request: Request, workspace: str) -> Response:
    """Return one workspace."""
    return body.json(workspace_view(plane_of(request), workspace, caller_of(request).role))


@router.patch("/{workspace}", response_model=WorkspaceView, openapi_extra=takes(EditWorkspace))
async def edit_workspace(request: Request, workspace: str) -> Response:
    """Change what a workspace is called, and what its members see of each other's jobs."""
    plane = plane_of(request)
    wanted = body.decode(await body.read(request), EditWorkspace)
    await edit.edit_workspace(
        plane.people.directory,
        workspace,
        name=wanted.name,
        others_jobs=_others_jobs(wanted.others_jobs) if wanted.others_jobs else None,
        by=_doer(request),
        at=plane.clock.now(),
    )
    return body.json(workspace_view(plane, workspace, caller_of(request).role))


@router.get("/{workspace}/people", response_model=PeoplePage)
async def list_people(request: Request, workspace: str) -> Response:
    """List who is in a workspace."""
    plane = plane_of(request)
    directory = plane.people.directory
    found = [(directory.person(each.person), each) for each in directory.members(workspace)]
    views = [person_view(plane, person, each) for person, each in found if person is not None]
    views.sort(key=lambda view: (-Role(view.role).rank, view.email))
    return body.json(PeoplePage(people=views, total=len(views)))


@router.post(
    "/{workspace}/people", status_code=201, response_model=Invited, openapi_extra=takes(Invite)
)
async def invite(request: Request, workspace: str) -> Response:
    """Put somebody into a workspace; the answer has what they come in by.

    A one-time link, or with `token` an API token, either good in this workspace alone.
    With an identity provider they sign in there, and `url` is this server's address.
    """
    plane, doer = plane_of(request), _doer(request)
    wanted = body.decode(await body.read(request), Invite)
    if not 1 <= wanted.minutes <= MOST_MINUTES:
        raise Invalid(
            f"A link cannot be good for {wanted.minutes} minutes.",
            hint=f"Say 1 to {MOST_MINUTES} (a week).",
            at="minutes",
        )
    people = plane.people
    if people.provider is None and not wanted.token:
        guest_of(request).check_may_open_session()
    person = await people.roster.invite(
        workspace, wanted.email, _role(wanted.role), by=doer, login=wanted.login or ""
    )
    view = _view(plane, workspace, person)
    if wanted.token:
        until = plane.clock.now() + TOKEN_FOR
        secret, _ = await people.tokens.make(
            person,
            name=f"for {person.email}",
            scopes=ALL_SCOPES & guest_of(request).scopes,
            within=workspace,
            until=until,
            by=doer,
        )
        return body.json(Invited(person=view, token=secret, expires_at=until), 201)
    if people.provider is not None:
        return body.json(Invited(person=view, url=public_url(request)), 201)
    until = plane.clock.now() + timedelta(minutes=wanted.minutes)
    code = await people.links.make(person, within=workspace, made_by=doer.name, until=until)
    link = f"{public_url(request)}/auth/link/{code}"
    return body.json(Invited(person=view, url=link, expires_at=until), 201)


@router.patch(
    "/{workspace}/people/{person}", response_model=PersonView, openapi_extra=takes(ChangePerson)
)
async def change_person(request: Request, workspace: str, person: str) -> Response:
    """Give somebody another role."""
    plane = plane_of(request)
    wanted = body.decode(await body.read(request), ChangePerson)
    changed = await plane.people.roster.change_role(
        workspace, person, _role(wanted.role), by=_doer(request)
    )
    return body.json(_view(plane, workspace, changed))


@router.delete("/{workspace}/people/{person}", response_model=Removed)
async def remove_person(request: Request, workspace: str, person: str) -> Response:
    """Take somebody out of a workspace. Their jobs go on; their tokens and sessions end."""
    return await removed(request, workspace, person)


async def removed(request: Request, workspace: str, person: str) -> Response:
    plane = plane_of(request)
    found, member = plane.people.roster.find(workspace, person)
    view = person_view(plane, found, member)
    live = await plane.people.roster.remove(workspace, found.id, by=_doer(request))
    return body.json(Removed(person=view, live_jobs=live))


def _doer(request: Request) -> Doer:
    return guest_of(request).doer(caller_of(request).role)


def _view(plane: Plane, workspace: str, person: Person) -> PersonView:
    return person_view(plane, *plane.people.roster.find(workspace, person.id))


def _role(text: str) -> Role:
    try:
        return Role(text.lower())
    except ValueError:
        raise Invalid(
            f"There is no role {shown(text)}.", hint=f"The roles are: {', '.join(Role)}.", at="role"
        ) from None


def _others_jobs(text: str) -> OthersJobs:
    try:
        return OthersJobs(text.lower())
    except ValueError:
        raise Invalid(
            f"Others' jobs cannot be {shown(text)}.",
            hint=f"Say one of: {', '.join(OthersJobs)}.",
            at="others_jobs",
        ) from None

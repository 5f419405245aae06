"""Whether somebody may do what they ask: the table of `core/access.py`, put to every route.

Routes of the framework ask by being `Guarded`; those that are walked past it call
`admit`. Either way the caller is known, in the workspace that the path names, before a
route's own code runs.
"""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi.routing import APIRoute
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response

from clusterra.api.guest import OPERATOR, Guest, nobody
from clusterra.api.rights import deed_of
from clusterra.control.people.directory import no_such_workspace
from clusterra.control.plane import Plane, no_such_cluster
from clusterra.core.access import RUNNING, TABLE, Caller, Deed, Who, check_may, check_scope
from clusterra.core.errors import Forbidden

GUEST = "clusterra.guest"
CALLER = "clusterra.caller"
"""Where in the scope they are kept."""


def guest_of(connection: HTTPConnection) -> Guest:
    """Return who asks; raise Unauthenticated if nobody we know does."""
    guest: Guest | None = connection.scope.get(GUEST)
    if guest is None:
        raise nobody()
    return guest


def caller_of(connection: HTTPConnection) -> Caller:
    """Return who asks, in the workspace that they ask about."""
    caller: Caller = connection.scope[CALLER]
    return caller


def admit(connection: HTTPConnection, plane: Plane, deed: Deed, where: dict[str, Any]) -> None:
    """Let a request through, or raise why not."""
    right = TABLE[deed]
    if right.who in (Who.ANYBODY, Who.MACHINE, Who.HOLDER):
        return
    guest = guest_of(connection)
    if isinstance(right.who, frozenset):
        connection.scope[CALLER] = in_workspace(
            guest,
            plane,
            deed,
            cluster=where.get("cluster", ""),
            workspace=where.get("workspace", ""),
        )
        return
    check_scope(guest.scopes, deed)
    if right.who is Who.OPERATOR and not _runs_the_server(guest, plane):
        raise Forbidden(
            "This is for whoever runs the server.",
            hint="Use the token in its state directory.",
            code="role",
        )


def in_workspace(
    guest: Guest, plane: Plane, deed: Deed, *, cluster: str = "", workspace: str = ""
) -> Caller:
    """Return the caller in a workspace; what they are not in, is not there."""
    people = plane.people
    site = plane.sites.get(cluster)
    if cluster:
        workspace = site.workspace if site else ""
    there = people.directory.has_workspace(workspace)
    role = guest.role_in(people, workspace) if there else None
    if role is None:
        raise no_such_cluster(cluster) if cluster else no_such_workspace(workspace)
    found = people.directory.workspace(workspace)
    check_may(role, deed, workspace=found.name)
    check_scope(guest.scopes, deed)
    return Caller(
        user=site.user if site and guest.by == OPERATOR else guest.person.login,
        email=guest.person.email,
        role=role,
        scopes=guest.scopes,
        others_jobs=found.others_jobs,
    )


def _runs_the_server(guest: Guest, plane: Plane) -> bool:
    return guest.role_in(plane.people, plane.people.home) in RUNNING


class Guarded(APIRoute):
    """A route of the framework that asks before it answers."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **more: Any) -> None:
        super().__init__(path, endpoint, **more)
        self.deeds = {method: deed_of(method, path) for method in self.methods or ()}

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def ask_first(request: Request) -> Response:
            plane: Plane = request.app.state.plane
            admit(request, plane, self.deeds[request.method], request.path_params)
            return await handle(request)

        return ask_first

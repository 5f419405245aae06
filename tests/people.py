"""People to test with: each has a Linux user, a role, and a token to ask with."""

from datetime import timedelta

from clusterra.control.people.doing import Doer, Visit
from clusterra.control.people.sessions import Opened
from clusterra.control.plane import Plane
from clusterra.core.access import ALL_SCOPES, Role, Scope
from clusterra.core.people.person import Person

SOMEBODY = Doer(actor="system:test", role=Role.OWNER)


async def somebody(
    plane: Plane, login: str, role: Role = Role.MEMBER, *, workspace: str = ""
) -> Person:
    """Return the person `login@lab.example`, put into a workspace (the first) as this."""
    await plane.open()
    return await plane.people.roster.invite(
        workspace or plane.people.home, f"{login}@lab.example", role, by=SOMEBODY, login=login
    )


async def token_of(
    plane: Plane,
    login: str,
    role: Role = Role.MEMBER,
    *,
    workspace: str = "",
    scopes: frozenset[Scope] = ALL_SCOPES,
) -> str:
    """Return a token of somebody, whom this makes."""
    person = await somebody(plane, login, role, workspace=workspace)
    secret, _ = await plane.people.tokens.make(
        person, name="test", scopes=scopes, within="", until=None, by=SOMEBODY
    )
    return secret


async def signed_in(
    plane: Plane, login: str, role: Role = Role.MEMBER, *, workspace: str = "", within: str = ""
) -> Opened:
    """Return a session of somebody, whom this makes."""
    person = await somebody(plane, login, role, workspace=workspace)
    return await plane.people.sessions.open(person, how="link", visit=Visit(), within=within)


async def link_of(plane: Plane, person: Person, *, within: str = "", minutes: int = 10) -> str:
    """Return the code of a one-time link for somebody."""
    until = plane.clock.now() + timedelta(minutes=minutes)
    return await plane.people.links.make(person, within=within, made_by="", until=until)

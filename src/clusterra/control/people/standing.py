"""Who somebody is in a workspace, when they are not there to ask: the owner of what acts for them."""

from clusterra.control.people.people import People
from clusterra.core.access import Caller, Role


def standing(people: People, person: str, workspace: str) -> Caller | None:
    """Return them as the caller they would be now; None if they are not in the workspace any more."""
    directory = people.directory
    found = directory.person(person)
    if found is None or not directory.has_workspace(workspace):
        return None
    member = directory.membership(workspace, person)
    if person == people.operator.id:
        role = Role.OWNER  # everywhere, as when they ask with the server's token
    elif member is not None:
        role = member.role
    else:
        return None
    return Caller(
        user=found.login,
        email=found.email,
        role=role,
        others_jobs=directory.workspace(workspace).others_jobs,
    )

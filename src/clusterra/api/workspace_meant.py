"""Which workspaces a request means that may leave them out."""

from collections.abc import Iterator

from clusterra.api.admit import in_workspace
from clusterra.api.guest import Guest
from clusterra.control.plane import Plane
from clusterra.core.access import Caller, Deed
from clusterra.core.errors import Invalid


def workspace_meant(guest: Guest, plane: Plane) -> str:
    """Return the only one there is."""
    mine = sorted(guest.workspaces(plane.people))
    if len(mine) != 1:
        raise Invalid(
            f"You are in {len(mine)} workspaces{': ' if mine else ''}{', '.join(mine)}.",
            hint="Say in `workspace` which one it is to be.",
            at="workspace",
        )
    return mine[0]


def workspaces_meant(
    guest: Guest, plane: Plane, deed: Deed, named: str
) -> Iterator[tuple[str, Caller]]:
    """Return the one that is named, or all that somebody is in; each with who they are there."""
    for each in [named] if named else sorted(guest.workspaces(plane.people)):
        yield each, in_workspace(guest, plane, deed, workspace=each)

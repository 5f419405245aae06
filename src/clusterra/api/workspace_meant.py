"""Which workspace a request means that names none: the only one there is."""

from clusterra.api.guest import Guest
from clusterra.control.plane import Plane
from clusterra.core.errors import Invalid


def workspace_meant(guest: Guest, plane: Plane) -> str:
    mine = sorted(guest.workspaces(plane.people))
    if len(mine) != 1:
        raise Invalid(
            f"You are in {len(mine)} workspaces{': ' if mine else ''}{', '.join(mine)}.",
            hint="Say in `workspace` which one it is to be.",
            at="workspace",
        )
    return mine[0]

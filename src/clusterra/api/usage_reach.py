"""Whose spending somebody sees, and on which clusters."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from clusterra.api.admit import in_workspace
from clusterra.api.guest import Guest
from clusterra.control.cost.report import Reach
from clusterra.control.plane import Plane
from clusterra.control.site import Site
from clusterra.core.access import Deed, sees_everybodys
from clusterra.core.errors import Forbidden
from clusterra.core.quote import shown

ME = "me"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    reaches: Sequence[Reach]
    everybodys: bool
    """Of none of these clusters only one's own part is seen."""


def reached(plane: Plane, guest: Guest, sites: Iterable[Site], person: str = "") -> Reached:
    """Return what the guest sees of what was spent; of one person, if they ask for one.

    Who runs a workspace sees everybody's; others do where they see each other's jobs, and
    elsewhere only their own.
    """
    wanted = person if person == ME else plane.people.directory.payer_of(person)
    found: defaultdict[str | None, list[Site]] = defaultdict(list)
    everybodys, hidden = True, False
    for site in sites:
        caller = in_workspace(guest, plane, Deed.SEE_USAGE, cluster=site.cluster.id)
        own = site.meter.person_of(caller.user)
        meant = own if wanted == ME else wanted
        if sees_everybodys(caller):
            found[meant or None].append(site)
        elif meant in ("", own):
            found[own].append(site)
            everybodys = False
        else:
            everybodys, hidden = False, True
    if hidden and not found:
        raise Forbidden(
            f"What {shown(person)} spends is not shown to you: people see their own here.",
            hint="Ask an admin of the workspace, or leave the person out.",
            code="others-spending",
        )
    return Reached(
        reaches=[Reach(sites=tuple(here), person=who) for who, here in found.items()],
        everybodys=everybodys,
    )

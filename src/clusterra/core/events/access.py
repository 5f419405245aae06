"""Who may read which event.

What everybody may see in the lists of jobs, nodes and clusters, they may see happen. What
is about people and about administration is for administrators and for whoever it is about.
"""

from clusterra.core.access import Caller
from clusterra.core.events.event import Event

_EVERYBODYS = ("job.", "node.", "fleet.", "cluster.")
"""A kind of event that is not among these is closed until somebody opens it."""


def may_read(caller: Caller, event: Event) -> bool:
    return (
        caller.admin
        or event.type.startswith(_EVERYBODYS)
        or event.actor == f"user:{caller.user}"
        or event.subject == f"user/{caller.user}"
    )

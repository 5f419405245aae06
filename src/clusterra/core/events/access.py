"""Who may read which event.

What somebody may see in the lists of jobs, nodes and clusters, they may see happen, and what
automations did about it. What is about people and about administration is for those who run the workspace and for
whoever it is about.
"""

from clusterra.core.access import Caller, sees_whole
from clusterra.core.events.event import Event

_EVERYBODYS = ("node.", "fleet.", "cluster.")
"""A kind of event that is not among these is closed until somebody opens it."""


def may_read(caller: Caller, event: Event) -> bool:
    if caller.admin or event.type.startswith(_EVERYBODYS):
        return True
    if event.type.startswith("job.") and sees_whole(caller, event.owner):
        return True
    if event.type.startswith("automation.") and event.owner and sees_whole(caller, event.owner):
        return True
    return caller.actor in (event.actor, _person(event.subject))


def _person(subject: str) -> str:
    kind, _, email = subject.partition("/")
    return f"user:{email}" if kind == "user" else ""

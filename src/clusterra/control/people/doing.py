"""Who does something to people, from where; and the event that tells of it."""

from dataclasses import dataclass
from datetime import datetime

from clusterra.control.people.drawn import new_event_id
from clusterra.core.access import Role
from clusterra.core.events.event import Draft
from clusterra.core.events.fact import Fact

SYSTEM = "system:clusterra"


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """Where a request came from."""

    address: str = ""
    agent: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Doer:
    """Whoever acts on people, with the role they have where they act."""

    actor: str
    role: Role
    visit: Visit = Visit()

    @property
    def name(self) -> str:
        return self.actor.partition(":")[2]


def told(fact: Fact, *, actor: str, subject: str, at: datetime, correlation: str = "") -> Draft:
    return Draft(
        id=new_event_id(at), fact=fact, at=at, actor=actor, subject=subject, correlation=correlation
    )

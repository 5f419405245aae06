"""One time that an automation acts, or is kept from it."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from clusterra.core.automation.action import Action
from clusterra.core.automation.cause import Cause
from clusterra.core.change import Kind
from clusterra.core.ids import uuid7, uuid8


class FiringState(StrEnum):
    DUE = "due"
    DONE = "done"
    REFUSED = "refused"
    """It should have acted and could not."""

    STOPPED = "stopped"
    """It has acted often enough."""

    DRY = "dry"
    """It would have acted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Firing:
    id: str
    """Of the automation, the event and the action: whoever reads the event makes the same one."""

    rule: str
    """`aut_…`"""

    workspace: str
    owner: str
    name: str
    """The automation's."""

    action: Action
    """As it was when the event came: a change of the automation is for later events."""

    cause: Cause
    at: datetime
    """When the event was met."""

    due_at: datetime
    once: bool = False
    operator: bool = False
    tries: int = 0
    state: FiringState = FiringState.DUE
    ended_at: datetime | None = None
    code: str = ""
    why: str = ""
    """Why it was refused or stopped, or is tried again."""

    made_job_id: int | None = None
    made_run_id: str = ""
    changed: tuple[str, ...] = ()
    """What is different from the job that it answers."""


DUE: Kind[Firing] = Kind("firing-due", Firing)
"""By ledger and firing: those still to be done."""

FIRING: Kind[Firing] = Kind("firing", Firing)
"""By automation, time and firing: those that are over."""


def firing_id(rule: str, event: str, action: int) -> str:
    return uuid8("firing", rule, event, action)


def made_run_id(firing: str, at: datetime) -> str:
    """Return the run id of the job that a firing makes: known before it acts, and always the same."""
    return uuid7(at, bytes.fromhex(firing.replace("-", ""))[-10:])


def due_key(firing: Firing) -> str:
    return f"{firing.cause.ledger}/{firing.id}"


def ended_key(firing: Firing) -> str:
    return f"{firing.rule}/{firing.at:%Y%m%d%H%M%S%f}/{firing.id}"

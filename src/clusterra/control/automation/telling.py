"""What the ledger is told of an automation that has acted, or has not."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from clusterra.core.automation.firing import Firing
from clusterra.core.events.catalogue import automations as facts
from clusterra.core.events.event import Draft
from clusterra.core.events.fact import Fact
from clusterra.core.ids import uuid8

NOBODY = "system:automation"
"""Who acted, where the owner is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A firing's events: about the job that it answers, and about the one that it made."""

    cause: Draft
    made: Draft | None = None


def fired(firing: Firing, *, actor: str, at: datetime) -> Told:
    fact = facts.AutomationFired(
        **_about(firing),
        made_job_id=firing.made_job_id,
        made_run_id=firing.made_run_id,
        changed=firing.changed,
    )
    cause = _draft(firing, fact, "fired", actor=actor, at=at)
    if firing.made_job_id is None:
        return Told(cause=cause)
    # The same again under the job that was made: whoever looks at either sees the other.
    subject = f"job/{firing.made_job_id}"
    return Told(cause=cause, made=_draft(firing, fact, "made", actor=actor, at=at, subject=subject))


def refused(firing: Firing, *, actor: str, at: datetime) -> Draft:
    fact = facts.AutomationRefused(**_about(firing), code=firing.code, why=firing.why)
    return _draft(firing, fact, "refused", actor=actor, at=at)


def stopped(firing: Firing, *, actor: str, at: datetime) -> Draft:
    fact = facts.AutomationStopped(**_about(firing), why=firing.why)
    return _draft(firing, fact, "stopped", actor=actor, at=at)


def _about(firing: Firing) -> dict[str, Any]:
    cause = firing.cause
    return {
        "id": "" if firing.once else firing.rule,
        "name": firing.name,
        "firing": firing.id,
        "cause": cause.id,
        "cause_type": cause.type,
        "action": firing.action.act.value,
        "job_id": cause.job_id,
        "run_id": cause.run_id,
        "user": cause.user,
    }


def _draft(
    firing: Firing, fact: Fact, word: str, *, actor: str, at: datetime, subject: str = ""
) -> Draft:
    return Draft(
        id=uuid8("automation", firing.id, word),
        fact=fact,
        at=at,
        actor=actor or NOBODY,
        subject=subject or firing.cause.subject,
        correlation=firing.cause.correlation,
    )

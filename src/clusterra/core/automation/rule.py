"""An automation: when an event is meant, do something, in its owner's name."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from clusterra.core.automation.action import Act, Action
from clusterra.core.change import Kind
from clusterra.core.errors import Invalid
from clusterra.core.events.catalogue.jobs import JobEnded, JobFact
from clusterra.core.events.fact import NAMES
from clusterra.core.events.filter import is_like
from clusterra.core.events.interest import Interest, check_interest

LONGEST_NAME = 100
MOST_ACTIONS = 10
MOST_TIMES = 100
MOST_PER_HOUR = 10_000
USUAL_PER_HOUR = 100
LONGEST_BACKOFF = timedelta(days=1)


class RuleState(StrEnum):
    ON = "on"
    OFF = "off"
    DRY_RUN = "dry_run"
    """It notes what it would have done, and does nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    id: str
    """`aut_…`"""

    workspace: str
    owner: str
    """Id of the person in whose name it acts, and with whose rights."""

    name: str
    when: Interest
    actions: tuple[Action, ...]
    most: int = 1
    """How often it may start something along one chain of jobs that are made one from another.
    Telling somebody is not counted."""

    backoff_seconds: int = 0
    """How long it waits before it acts; twice as long each time along one chain."""

    most_per_hour: int = USUAL_PER_HOUR
    """How often it may act at all, on each cluster: what a mistake can cost."""

    state: RuleState = RuleState.ON
    begins: Mapping[str, int] = field(default_factory=dict)
    """By ledger: the last event before it was made, changed or turned on. It answers later ones."""

    created_at: datetime
    once: bool = False
    """Said with a submission (`then`): it ends with that job."""

    operator: bool = False
    """Made with the server's own token: it acts on a cluster as the Linux user that the token
    acts as there."""


RULE: Kind[Rule] = Kind("automation", Rule)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleWish:
    """What somebody wants of an automation, before it is one."""

    name: str = ""
    when: Interest = field(default_factory=Interest)
    actions: tuple[Action, ...] = ()
    most: int = 1
    backoff_seconds: int = 0
    most_per_hour: int = USUAL_PER_HOUR
    state: RuleState = RuleState.ON


ENDS = tuple(sorted(name for name, kind in NAMES.items() if issubclass(kind, JobEnded)))
"""Types of events that a job ends with."""

FAILED = "job.failed"
NOT_RETRIED = frozenset({"job.completed", "job.cancelled"})
"""Ends after which nobody wants the same job again."""

_JOBS = tuple(name for name, kind in NAMES.items() if issubclass(kind, JobFact))


def check_wish(wish: RuleWish) -> None:
    """Raise Invalid if it could not do what somebody meant."""
    if wish.when == Interest():
        raise Invalid(
            "It does not say when: every event would be answered.",
            hint="Name the events in when.types, as job.out_of_memory.",
            at="when",
        )
    try:
        check_interest(wish.when)
    except Invalid as error:
        error.at = f"when.{error.at}"
        raise
    if not wish.actions:
        raise Invalid(
            "It does not say what to do.",
            hint='Add an action to do, as {"retry": {}} or {"notify": "whk_…"}.',
            at="do",
        )
    if len(wish.actions) > MOST_ACTIONS:
        raise Invalid(
            f"It has {len(wish.actions)} actions; the most is {MOST_ACTIONS}.",
            hint="Make two automations of it.",
            at="do",
        )
    for place, action in enumerate(wish.actions):
        _check_answers(wish.when, action, f"do[{place}].{action.act}")


def _check_answers(when: Interest, action: Action, at: str) -> None:
    """Refuse what would wait for ever, in silence."""
    if not action.act.needs_job:
        return
    meant = {each for each in _JOBS if any(is_like(each, glob) for glob in when.types or ("*",))}
    if not meant:
        raise Invalid(
            f"None of these events is about a job, so there is none to {action.act}.",
            hint="Name events of jobs in when.types, as job.out_of_memory.",
            at=at,
        )
    if action.act is not Act.RETRY:
        return
    ends = meant.intersection(ENDS) - NOT_RETRIED
    if ends == {FAILED} and not action.retry.plain:
        raise Invalid(
            "A job that simply failed fails again: it is retried only if you say so.",
            hint="Set plain to true, or name job.out_of_memory, job.timeout or job.node_fail.",
            at=f"{at}.plain",
        )
    if not ends:
        raise Invalid(
            "A job is submitted again after it has failed, and none of these events says so.",
            hint="Name job.out_of_memory, job.timeout, job.node_fail or job.preempted.",
            at=at,
        )

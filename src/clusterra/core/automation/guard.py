"""What keeps automations from going round in circles.

A job that an automation makes may end in an event that the same automation answers, and
so on for ever, at somebody's expense. So every job that is made remembers what it was
made from, and how often each automation has acted on the way.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from clusterra.core.automation.action import Act
from clusterra.core.automation.cause import Cause
from clusterra.core.automation.rule import LONGEST_BACKOFF, Rule
from clusterra.core.change import Kind
from clusterra.core.words import count

DEEPEST = 8
"""Jobs that are made one from another, whatever the automations say."""

HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """Where a job comes from, and what was done on the way."""

    root: str
    """What it began with, as `job/41/…`."""

    at: datetime
    depth: int = 0
    """How many jobs were made one from another up to this one."""

    acted: Mapping[str, int] = field(default_factory=dict)
    """By automation: how often it has started something along the way, and for this job."""

    follows: tuple[str, ...] = ()
    """What was said with the submission (`then`) and goes on for this job, which stands in for it."""

    def count(self, rule: str) -> int:
        return self.acted.get(rule, 0)

    def with_one_more(self, rule: str, at: datetime) -> "Lineage":
        return replace(self, acted={**self.acted, rule: self.count(rule) + 1}, at=at)

    def of_a_child(self, rule: str, at: datetime, *, follows: tuple[str, ...] = ()) -> "Lineage":
        """Return that of a job which is made from this one."""
        return replace(self.with_one_more(rule, at), depth=self.depth + 1, follows=follows)


LINEAGE: Kind[Lineage] = Kind("lineage", Lineage)
"""By ledger and origin (`job/41/…`) for what was acted upon; by ledger and run (`run/…`) for what
was made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hourly:
    """How often an automation has acted on one ledger in an hour."""

    since: datetime
    count: int = 0
    left_alone: int = 0
    """Events that it would have answered, had there not been so many."""

    def at(self, now: datetime) -> "Hourly":
        """Return the hour that is now."""
        return self if now < self.since + HOUR else Hourly(since=now)


HOURLY: Kind[Hourly] = Kind("firings-hourly", Hourly)
"""By automation and ledger."""


def is_own_doing(rule: Rule, cause: Cause) -> bool:
    """Say whether an event tells of this automation, or of one that answers automations.

    Such an event is passed over without a word: a word would be the next of them.
    """
    return bool(cause.by == rule.id and cause.by) or (
        cause.type.startswith("automation.") and cause.answers.startswith("automation.")
    )


def why_stopped(rule: Rule, act: Act, lineage: Lineage) -> str:
    """Return why an automation leaves something alone; nothing if it may act."""
    if not act.starts_jobs:
        return ""
    if (done := lineage.count(rule.id)) >= rule.most:
        return f"it has acted {count(done, 'time')} for this job already, and that is its most"
    if lineage.depth >= DEEPEST:
        return f"{DEEPEST} jobs were made one from another already, and no chain may be longer"
    return ""


def why_too_many(rule: Rule, hour: Hourly) -> str:
    """Return why an automation leaves everything alone for a while; nothing if it does not."""
    if hour.count < rule.most_per_hour:
        return ""
    until = hour.since + HOUR
    return (
        f"it has acted {count(hour.count, 'time')} within an hour, and that is its most;"
        f" it answers nothing before {until:%H:%M} UTC"
    )


def pause(rule: Rule, lineage: Lineage) -> timedelta:
    """Return how long to wait before acting: twice as long each time along one chain."""
    # Beyond a day it does not matter, and a number of a hundred digits would be no time at all.
    doublings = min(lineage.count(rule.id), 30)
    return min(timedelta(seconds=rule.backoff_seconds * 2**doublings), LONGEST_BACKOFF)

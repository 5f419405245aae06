"""What somebody may spend, and what follows when they would spend more.

Limits are on a month, a day, a single job, and on what runs at once (per hour). Spending is
what is in the books and what runs has come to; projected is that, with all that runs taken to
its time limit. How somebody stands is in `quota_standing`, what is decided about a submission in
`admission`, and which jobs have to go in `going`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from clusterra.core.change import Kind

WORKSPACE = ""
"""Whose quota it is that all people of a workspace have together: that of nobody in particular."""


def subject_of(whose: str) -> str:
    """Return what an event about somebody's quota or spending is about: they may read it."""
    return "workspace" if whose == WORKSPACE else f"user/{whose}"


class Mode(StrEnum):
    """Each does all that those before it do."""

    OBSERVE = "observe"
    """Nothing but the figures."""

    WARN = "warn"
    """Say so: events, and a warning with each submission."""

    BLOCK = "block"
    """Take no job that would go over."""

    BLOCK_AND_KILL = "block_and_kill"
    """And end running ones, the newest and most expensive first, when what is projected is over
    the limit and its buffer."""

    @property
    def blocks(self) -> bool:
        return self in (Mode.BLOCK, Mode.BLOCK_AND_KILL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Raise:
    """More than the limit of the month, for a while."""

    micros: int
    until: datetime
    by: str
    at: datetime
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """All amounts in millionths of a dollar; None is no limit."""

    month: int | None = None
    day: int | None = None
    job: int | None = None
    """What one job may cost if it takes all its time."""

    burn: int | None = None
    """What all that runs may cost per hour."""

    mode: Mode = Mode.WARN
    buffer_percent: int = 0
    """How far above the month's limit projected spending may be before jobs are ended."""

    grace_seconds: int = 60
    """How long before a job is ended its owner is told."""

    raised: Raise | None = None
    """What was allowed on top for a while; it is put in by `Quotas.of`."""

    @property
    def is_none(self) -> bool:
        """Nothing is limited."""
        return self.month is self.day is self.job is self.burn is None

    def month_now(self, now: datetime) -> int | None:
        """Return the limit of the month as it is now, with what was allowed on top."""
        if self.month is None or self.raised is None or now >= self.raised.until:
            return self.month
        return self.month + self.raised.micros


@dataclass(frozen=True, slots=True, kw_only=True)
class Quotas:
    """All the quotas of a workspace."""

    workspace: Quota = field(default_factory=Quota)
    """Of all its people together, waste included."""

    everybody: Quota = field(default_factory=Quota)
    """Of each person who has none of their own."""

    people: Mapping[str, Quota] = field(default_factory=dict)
    """By e-mail, or the Linux user of somebody who is no person here."""

    zone: str = "UTC"
    """Where its months and days begin."""

    waste_per_day: int | None = None
    """What machines without work may cost in a day before it is told."""

    raises: Mapping[str, Raise] = field(default_factory=dict)
    """By person; the workspace's own by `WORKSPACE`. Apart from the quotas, so that somebody who
    is allowed more for a week goes on having everybody's quota."""

    def of(self, person: str) -> Quota:
        """Return the quota that counts for a person; for `WORKSPACE`, for all together."""
        quota = self.workspace if person == WORKSPACE else self.people.get(person, self.everybody)
        return replace(quota, raised=self.raises.get(person))

    @property
    def are_none(self) -> bool:
        """Nobody is limited in anything."""
        return all(each.is_none for each in (self.workspace, self.everybody, *self.people.values()))


QUOTAS: Kind[Quotas] = Kind("quotas", Quotas)
"""By workspace."""

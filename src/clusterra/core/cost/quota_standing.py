"""How somebody stands against their quota: what they have spent, and what is on its way.

Spent is what is in the books and what runs has come to. Projected is that, with all that runs
taken to its time limit; a job without one is taken to go on to the end of the period.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from clusterra.core.cost.periods import Period
from clusterra.core.cost.quota import WORKSPACE, Mode, Quota
from clusterra.core.money import dollars
from clusterra.core.words import count

HIGH_PERCENT = 80
"""Of a limit: from here on somebody should know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What somebody spends in a period, in millionths of a dollar."""

    period: Period
    booked: int = 0
    pending: int = 0
    """What running jobs have come to so far."""

    to_come: int = 0
    """What they will have come to by their time limits, on top."""

    waiting: int = 0
    """What jobs that wait would cost if they started now. 0 where nobody has asked for it."""

    @property
    def spent(self) -> int:
        return self.booked + self.pending

    @property
    def projected(self) -> int:
        return self.spent + self.to_come


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    whose: str
    """An e-mail, a Linux user, or `WORKSPACE`."""

    quota: Quota
    month: Figures
    day: Figures
    now: datetime
    burn: int = 0
    """What all that runs costs per hour."""

    burn_waiting: int = 0
    """What jobs that wait would add to that. 0 where nobody has asked for it."""

    unpriced: int = 0
    """How many of the running jobs are in no figure, because their price is not known."""

    @property
    def name(self) -> str:
        return "the workspace" if self.whose == WORKSPACE else self.whose

    @property
    def limit(self) -> int | None:
        """Return the limit of the month, with what was allowed on top."""
        return self.quota.month_now(self.now)

    @property
    def left(self) -> int | None:
        return None if self.limit is None else max(self.limit - self.month.spent, 0)

    @property
    def over_by(self) -> int:
        """Return how much of what runs has to go; 0 where nothing does."""
        if self.limit is None or self.quota.mode is not Mode.BLOCK_AND_KILL:
            return 0
        most = self.limit * (100 + self.quota.buffer_percent) // 100
        return max(self.month.projected - most, 0)

    def why_over(self) -> str:
        """Say, in numbers, why jobs have to go."""
        buffer = f" and {self.quota.buffer_percent} %" if self.quota.buffer_percent else ""
        return (
            f"{self.name} would have spent {dollars(self.month.projected)} in"
            f" {self.month.period.name} once all that runs has taken its time"
            f" ({dollars(self.month.spent)} so far, {dollars(self.month.to_come)} to come);"
            f" the limit is {dollars(self.limit or 0)}{buffer}"
        )


def follows(standing: Standing, going: int) -> str:
    """Say what a quota does at once to somebody who is over it; empty if they are not.

    `going` is how many of their running jobs have to end.
    """
    limit, month, quota = standing.limit, standing.month, standing.quota
    if limit is None or month.projected <= limit:
        return ""
    told = f"{standing.name} has spent {dollars(month.spent)} of {dollars(limit)}"
    if month.spent <= limit:
        told += f", and what runs would bring that to {dollars(month.projected)}"
    if going:
        jobs = count(going, "running job")
        at = standing.now + timedelta(seconds=quota.grace_seconds)
        return f"{told}; {jobs} will be cancelled from {at:%H:%M} UTC on."
    if quota.mode.blocks:
        return f"{told}; what would cost more is not taken."
    return f"{told}; nothing is stopped in the mode {quota.mode}."


def percent(spent: int, limit: int | None) -> int | None:
    """Return how much of a limit is spent, rounded down: 100 is all of it."""
    if limit is None:
        return None
    return spent * 100 // limit if limit else (100 if spent else 0)

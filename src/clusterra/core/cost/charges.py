"""What comes together over time: whole millionths of a dollar, the same whoever adds them up.

A charge is a time in which a rate stayed the same. What has come together by a moment is
rounded down once, from the beginning. What came together between two moments is the
difference: so hours add up to days and days to the whole, to the millionth.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

HOUR = 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    since: datetime
    until: datetime
    """In whole seconds, as all times in a bill: Slurm's are."""

    usd_per_hour: int | None
    """In millionths of a dollar; None where a price was not known."""

    @property
    def seconds(self) -> int:
        return seconds_between(self.since, self.until)


def accrued(charges: Iterable[Charge], until: datetime | None = None) -> int:
    """Return what has come together by a moment, or in all."""
    owed = 0
    for each in charges:
        end = each.until if until is None else min(each.until, until)
        if end > each.since and each.usd_per_hour:
            owed += each.usd_per_hour * seconds_between(each.since, end)
    return owed // HOUR


def between(charges: Sequence[Charge], since: datetime, until: datetime) -> int:
    """Return what came together in a period; periods that meet add up exactly."""
    return accrued(charges, until) - accrued(charges, since)


def seconds_between(since: datetime, until: datetime) -> int:
    return int((until - since).total_seconds())

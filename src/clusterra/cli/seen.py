"""How old an answer is: said whenever it is not fresh, so that silence never looks like news."""

from datetime import datetime, timedelta
from typing import Protocol

from clusterra.cli.amounts import duration


class Observed(Protocol):
    @property
    def observed_at(self) -> datetime | None: ...
    @property
    def age_seconds(self) -> float | None: ...
    @property
    def stale(self) -> bool: ...


def age_words(seen: Observed) -> str:
    """Return a sentence about the age of stale data; empty for fresh data."""
    if seen.observed_at is None:
        return "Slurm has not been seen yet"
    if not seen.stale:
        return ""
    if seen.age_seconds is None:
        return "Slurm cannot be seen: this is what was last known"
    age = duration(timedelta(seconds=seen.age_seconds))
    return f"Slurm was last seen {age} ago: this is what was known then"


def now_there(seen: Observed, here: datetime) -> datetime:
    """Return the server's present, so that its clock and ours need not agree."""
    if seen.observed_at is None or seen.age_seconds is None:
        return here
    return seen.observed_at + timedelta(seconds=seen.age_seconds)

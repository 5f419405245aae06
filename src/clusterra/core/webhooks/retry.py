"""When something that could not be told is tried again: a schedule that is data.

A wait is spread by a fifth either way, so that what failed together does not come back
together. What the receiver asks for can only make it later.
"""

from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

SCHEDULE: tuple[timedelta, ...] = (
    timedelta(0),
    timedelta(seconds=5),
    timedelta(seconds=30),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=5),
    timedelta(hours=10),
    timedelta(hours=14),
    timedelta(hours=20),
    timedelta(hours=24),
)
"""The wait before each attempt: eleven over some 76 hours, a weekend and a morning."""

SPREAD = 0.2

LONGEST_HINT = timedelta(hours=24)
"""The longest that a receiver may ask for."""


def wait_before(attempt: int, chance: float) -> timedelta | None:
    """Return how long to wait before this attempt (the first is 1); None if there is none.

    `chance` is drawn from 0 to 1.
    """
    if attempt > len(SCHEDULE):
        return None
    return SCHEDULE[attempt - 1] * (1 + SPREAD * (2 * chance - 1))


def asked_to_wait(text: str, now: datetime) -> timedelta | None:
    """Return what `Retry-After` says, in seconds or as a date; None if that says nothing."""
    text = text.strip()
    if text.isascii() and text.isdigit():
        # More digits than a day has seconds are a day, and need not be read.
        wait = timedelta(seconds=int(text)) if len(text) <= 6 else LONGEST_HINT
    else:
        try:
            moment = parsedate_to_datetime(text)
        except (TypeError, ValueError):
            return None
        wait = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - now
    return min(wait, LONGEST_HINT) if wait > timedelta(0) else None

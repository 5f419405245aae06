"""When an endpoint is left alone, and how much is sent to it at a time.

One that fails ten times in a row is asked again with a single message every minute, later
every five; what waits for it meanwhile uses up none of its attempts. One that answers
quickly is given more at a time, one that is slow or fails less, so that an endpoint that
hangs holds few of the places that all endpoints share.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

OPENS_AFTER = 10
"""Failures in a row."""

FIRST_PAUSE = timedelta(minutes=1)
LONGEST_PAUSE = timedelta(minutes=5)

BEGINS_WITH = 4
QUICK = timedelta(milliseconds=500)
"""An answer within that is one of a healthy endpoint."""


@dataclass(slots=True, kw_only=True)
class Breaker:
    most: int
    """The most that may be under way at a time."""

    width: int = BEGINS_WITH
    """How much may be under way now."""

    failures: int = 0
    """In a row."""

    left_alone_until: datetime | None = None
    """While it is: when one message may try again."""

    def __post_init__(self) -> None:
        self.width = min(self.width, self.most)

    def answered(self, took: timedelta) -> None:
        """Note that a message was taken."""
        self.failures, self.left_alone_until = 0, None
        if took <= QUICK:
            self.width = min(self.width + 1, self.most)
        else:
            self.width = min(self.width, BEGINS_WITH)

    def failed(self, now: datetime) -> None:
        self.failures += 1
        self.width = max(1, self.width // 2)
        if self.failures >= OPENS_AFTER:
            times = min(self.failures - OPENS_AFTER, 8)
            self.left_alone_until = now + min(FIRST_PAUSE * 2**times, LONGEST_PAUSE)
            self.width = 1

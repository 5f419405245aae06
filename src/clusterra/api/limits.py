"""How often somebody may guess.

Secrets here are too long to be guessed and are looked up by their hash, so that a near
miss takes as long as any other. This is for the log, for the machine, and for the short
codes that people type.
"""

from collections import deque
from collections.abc import Hashable
from datetime import datetime, timedelta

from clusterra.core.errors import Busy
from clusterra.ports import Clock

WITHIN = timedelta(minutes=1)
_MOST_REMEMBERED = 10_000


class Failures:
    def __init__(self, clock: Clock, *, most: int) -> None:
        self._clock = clock
        self._most = most
        self._by: dict[Hashable, deque[datetime]] = {}

    def note(self, who: Hashable) -> None:
        """Count one more."""
        if len(self._by) >= _MOST_REMEMBERED:
            self._by.clear()
        self._by.setdefault(who, deque(maxlen=self._most)).append(self._clock.now())

    def check(self, who: Hashable) -> None:
        """Raise Busy if there were too many of late."""
        seen = self._by.get(who)
        if seen is None or len(seen) < self._most:
            return
        wait = seen[0] + WITHIN - self._clock.now()
        if wait > timedelta():
            error = Busy(
                f"{self._most} attempts within a minute have failed.",
                hint=f"Try again in {wait.seconds + 1} s.",
                code="too-many-attempts",
            )
            error.retry_after = wait.seconds + 1
            raise error

"""How many messages a second: so many may go at once, and then one whenever there is room."""

from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(slots=True, kw_only=True)
class Bucket:
    per_second: float
    """0 is no limit."""

    burst: float = 1
    _full: float = -1
    _at: datetime | None = None

    def take(self, now: datetime) -> datetime | None:
        """Take room for one message; if there is none, take nothing and return when there is."""
        if self.per_second <= 0:
            return None
        if self._at is None:
            self._full = self.burst
        elif now > self._at:
            # A clock that went back adds nothing, and takes nothing away.
            self._full += (now - self._at).total_seconds() * self.per_second
        self._full, self._at = min(self._full, self.burst), now
        if self._full >= 1:
            self._full -= 1
            return None
        return now + timedelta(seconds=(1 - self._full) / self.per_second)

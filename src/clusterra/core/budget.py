"""How often a far side may be asked."""

from collections import deque
from dataclasses import dataclass, field
from datetime import datetime, timedelta

MINUTE = timedelta(minutes=1)


@dataclass(slots=True)
class Budget:
    """At most `per_minute` calls in any sixty seconds, counted as they are made."""

    per_minute: int
    _made: deque[datetime] = field(default_factory=deque)

    def left(self, now: datetime) -> int:
        while self._made and now - self._made[0] >= MINUTE:
            self._made.popleft()
        return max(self.per_minute - len(self._made), 0)

    def take(self, now: datetime) -> bool:
        """Count one call, or say that there is none left."""
        if not self.left(now):
            return False
        self._made.append(now)
        return True

"""What we know of the far side, and how old it is.

"Listed, there are none" must never look like "could not list": whatever comes
from Slurm is `Seen` with the moment it was seen, or `Unseen` with the reason.
A loop that cannot see does not act, and a screen shows the age of what it shows.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, TypeAlias, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Seen(Generic[T]):
    value: T
    at: datetime

    def age(self, now: datetime) -> timedelta:
        return max(now - self.at, timedelta())


@dataclass(frozen=True, slots=True)
class Unseen:
    why: str


Sight: TypeAlias = Seen[T] | Unseen

"""What the ledger holds."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """An event before the ledger has numbered it."""

    type: str
    at: datetime
    actor: str
    """The person who acted, or the part of the system: `user:ana`, `system:observe`."""

    subject: str = ""
    """What it is about: `job/41`, `node/w1`, `cluster`."""

    data: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    cluster: str
    seq: int
    draft: Draft

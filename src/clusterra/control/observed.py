"""How far a cluster has been observed: which times need not be read from accounting again."""

from dataclasses import dataclass
from datetime import datetime

from clusterra.core.change import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """Which time has been observed without a hole; survives a restart."""

    since: datetime | None = None
    until: datetime | None = None


OBSERVED: Kind[Observed] = Kind("observed", Observed)
"""By cluster."""

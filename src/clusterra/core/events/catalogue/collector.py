"""What the collector could not tell."""

from datetime import datetime

from clusterra.core.events.fact import Fact, event


@event("collector.gap")
class CollectorGap(Fact):
    """What hooks said could not be kept; observation fills in what it can."""

    lost: int
    since: datetime
    until: datetime
    why: str


@event("collector.tested")
class CollectorTested(Fact):
    """A hook's installer tried whether its events arrive."""

    user: str = ""

"""From where the prices of a period are known, and how fresh they are."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from clusterra.control.site import Site
from clusterra.core.cost.prices import STALE_AFTER, Quote, Source
from clusterra.core.cost.stints import Stint
from clusterra.core.seen import Seen


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownPrices:
    sources: tuple[Source, ...] = ()
    as_of: datetime | None = None
    """Since when the newest of them has been known."""

    estimate: bool = False
    """Nobody pays some of them: workers of this machine, priced as what they stand for."""

    stale: bool = False
    """Some come from an edge that has not been heard for a while: they are its last."""


def known_prices(sites: Iterable[Site], since: datetime, until: datetime) -> KnownPrices:
    """Return how the machines of a period are priced, as far back as their history is kept."""
    quotes: list[Quote] = []
    stale = False
    for site in sites:
        stints = (each for past in site.meter.stints.values() for each in past)
        here = [each.quote for each in stints if each.quote and _overlaps(each, since, until)]
        stale |= is_silent(site) and any(each.source is Source.EDGE for each in here)
        quotes += here
    found = {each.source for each in quotes}
    return KnownPrices(
        sources=tuple(each for each in Source if each in found),
        as_of=max((each.at for each in quotes), default=None),
        estimate=any(each.estimate for each in quotes),
        stale=stale,
    )


def is_silent(site: Site) -> bool:
    """Say whether the edge has been silent for so long that its prices count as old."""
    heard, now = site.edge.report, site.meter.clock.now()
    return not isinstance(heard, Seen) or heard.age(now) > STALE_AFTER


def _overlaps(stint: Stint, since: datetime, until: datetime) -> bool:
    return stint.since < until and (stint.until is None or stint.until > since)

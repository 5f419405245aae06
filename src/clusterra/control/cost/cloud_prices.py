"""Ask the cloud, now and then, what the machines of each cluster cost."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import structlog

from clusterra.control.site import Site
from clusterra.core.errors import Refused, Unreachable
from clusterra.core.scaling.shapes import Price
from clusterra.core.seen import Seen
from clusterra.ports import Clock, PriceList

log = structlog.get_logger()

GOOD_FOR = timedelta(hours=6)
"""Prices on demand change a few times a year; those of spot machines that run come from the edge."""


@dataclass(slots=True, kw_only=True)
class CloudPrices:
    price_list: PriceList
    sites: Callable[[], Iterable[Site]]
    clock: Clock

    async def refresh(self) -> bool:
        """Ask for what is not known, or not known any more; say whether something could not be asked."""
        missed = False
        for site in self.sites():
            types = _types(site)
            known, at = site.meter.book.cloud, site.meter.book.cloud_at
            now = self.clock.now()
            if not site.region or not types:
                continue
            if at is not None and now - at < GOOD_FOR and types <= known.keys():
                continue
            try:
                found = await self.price_list.prices(site.region, sorted(types))
            except (Refused, Unreachable) as error:
                # What was known last counts on, or the table does.
                log.warning("prices.not_told", region=site.region, why=error.detail)
                missed = True
                continue
            _take(site, dict.fromkeys(types, Price()) | dict(found), now)
        return missed


def _take(site: Site, prices: dict[str, Price], now: datetime) -> None:
    site.meter.reprice(replace(site.meter.book, cloud=prices, cloud_at=now))


def _types(site: Site) -> frozenset[str]:
    """Return the kinds of machines it may have, and those it has."""
    report = site.edge.report
    machines = report.value.machines or () if isinstance(report, Seen) else ()
    listed = (each for shape in site.shapes.values() for each in shape.types)
    return frozenset((*listed, *(each.instance_type for each in machines))) - {""}

"""What machines of EC2 cost, by region: a table that comes with the program.

It needs no account and no network, and is as old as the release. An edge that tells today's
prices knows better.
"""

import csv
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib import resources
from types import MappingProxyType

from clusterra.core.errors import Invalid
from clusterra.core.money import micros_of
from clusterra.core.scaling.shapes import Price

AS_OF = datetime(2026, 8, 1, tzinfo=UTC)
"""How old the table is."""


def prices(region: str) -> Mapping[str, Price]:
    """Return the price of every machine that is sold in a region, by its type."""
    known = _table()
    if region not in known:
        raise Invalid(
            f"There are no prices for the region {region!r}.",
            hint=f"Use one of {', '.join(sorted(known))}, or the one nearest to yours.",
            code="unknown-region",
            at="region",
        )
    return known[region]


@cache
def _table() -> Mapping[str, Mapping[str, Price]]:
    regions: dict[str, dict[str, Price]] = {}
    text = (resources.files("clusterra") / "data" / "ec2-prices.csv").read_text(encoding="utf-8")
    for row in csv.DictReader(text.splitlines()):
        regions.setdefault(row["region"], {})[row["instance_type"]] = Price(
            on_demand=micros_of(row["on_demand_usd_hour"]),
            spot=micros_of(row["spot_usd_hour"]),
        )
    return {region: MappingProxyType(machines) for region, machines in regions.items()}

"""Prices as they travel: what each machine costs, who says so, and since when.

Money is whole millionths of a dollar per hour. Null is "not known", never "nothing".
"""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceView:
    usd_per_hour_micros: int | None
    basis: str
    """What was priced: `c7g.xlarge spot in us-east-1a`, `8 CPUs at $0.04`."""
    source: str
    """rates (an admin's own), edge, cloud or table; empty if it is not known."""
    at: datetime | None
    """Since when it is known to be so."""
    stale: bool
    """Who told it has been silent for more than 90 seconds; it is the last that was said."""
    estimate: bool
    """Nobody pays this: a worker of one machine, priced as what it stands for."""
    why_unknown: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePrice:
    node: str
    phase: str
    """warming, ready, leaving or closed."""
    cpus: int
    memory_mib: int
    gpus: int
    since: datetime
    """Since when it is as it is and costs this."""
    price: PriceView


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapePrice:
    shape: str
    arch: str
    cpus: int
    """What it offers to jobs; so are the next two."""
    memory_mib: int
    gpus: int
    gpu_model: str
    types: list[str]
    price: PriceView


@dataclass(frozen=True, slots=True, kw_only=True)
class RatesView:
    """What an admin says the resources of a machine cost."""

    cpu_usd_per_hour_micros: int
    gib_usd_per_hour_micros: int
    gpu_usd_per_hour_micros: int
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class PricesView:
    cluster: str
    currency: str
    purchase: str
    """How machines are bought: on-demand or spot."""
    rates: RatesView | None
    """Own rates, which count before every list; null if there are none."""
    heard_at: datetime | None
    """When an agent last told prices; null if none has."""
    nodes: list[NodePrice]
    shapes: list[ShapePrice]
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SetRates:
    """What is left out costs nothing."""

    cpu_usd_per_hour_micros: int = 0
    gib_usd_per_hour_micros: int = 0
    gpu_usd_per_hour_micros: int = 0
    currency: str = "USD"

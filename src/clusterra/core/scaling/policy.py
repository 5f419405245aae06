"""How a cluster's fleet may grow and shrink: what an admin sets."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from clusterra.core.change import Kind
from clusterra.core.scaling.shapes import Purchase


class Rule(StrEnum):
    FAMILY = "family"
    """Jobs go to the family of their memory per CPU; its size is that of the biggest one waiting."""

    CHEAPEST = "cheapest"
    """Whatever mix of shapes costs least and holds them all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    rule: Rule = Rule.FAMILY
    max_workers: int = 64
    max_usd_per_hour: int | None = None
    """The most that all workers together may cost, in millionths of a dollar; None is no limit."""

    idle_seconds: int = 120
    """How long a worker is kept that has nothing to do."""

    purchase: Purchase = Purchase.ON_DEMAND
    architectures: tuple[str, ...] = ("amd64", "arm64")
    """Those that may be used, the preferred one first. A job that names one gets that one."""

    minimum: Mapping[str, int] = field(default_factory=dict)
    """Workers that are kept whatever the queue: how many of which shape."""


POLICY: Kind[Policy] = Kind("policy", Policy)
"""By cluster."""

"""What a machine costs by the hour, and who says so.

Four can say it, and the first that does is believed: an admin's own rates, the edge that
buys the machines, the cloud's price list, and the table that comes with the program. Where
nobody does, that is the answer, with the reason: a cost that is not known is never zero.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from clusterra.core.clusters import Node
from clusterra.core.money import dollars
from clusterra.core.scaling.edge import Machine, Offering
from clusterra.core.scaling.shapes import Price, Purchase, Shape
from clusterra.core.seen import Seen, Sight

STALE_AFTER = timedelta(seconds=90)
"""An edge says its prices again with every heartbeat. One that has been silent for longer is
still believed, and its prices are shown as old."""

MIB_PER_GIB = 1024


class Source(StrEnum):
    RATES = "rates"
    """What an admin says a CPU, a GiB and a GPU cost here."""

    EDGE = "edge"
    """What the agent that buys the machines was told by the cloud."""

    CLOUD = "cloud"
    """The cloud's price list, asked with the account's own credentials."""

    TABLE = "table"
    """The list that comes with the program."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """A price, where it comes from, and since when it is known."""

    usd_per_hour: int
    """In millionths of a dollar; so is every amount in here."""

    source: Source
    at: datetime
    basis: str
    """What was priced: `c7g.xlarge spot in us-east-1a`, `8 CPUs, 32 GiB at own rates`."""

    estimate: bool = False
    """Nobody pays this: a worker of this machine, priced as what it stands for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """What an admin says the resources of a machine cost per hour."""

    cpu: int = 0
    gib: int = 0
    gpu: int = 0
    since: datetime

    def of(self, node: Node) -> int:
        return (
            self.cpu * node.cpus + self.gib * node.memory_mib // MIB_PER_GIB + self.gpu * node.gpus
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """A price that somebody told us, and since when they have said so."""

    usd_per_hour: int
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Book:
    """Everything that is known about prices of one cluster at a moment."""

    table: Mapping[str, Price] = field(default_factory=dict)
    """By machine type."""

    table_at: datetime
    cloud: Mapping[str, Price] = field(default_factory=dict)
    cloud_at: datetime | None = None
    edge: Mapping[tuple[str, str, str], Heard] = field(default_factory=dict)
    """By type, lifecycle and zone."""

    rates: Rates | None = None

    def quote(
        self, node: Node, machine: Machine | None, shape: Shape | None, buys: Purchase
    ) -> Quote | str:
        """Return what this node costs, or why that is not known."""
        if self.rates is not None:
            return Quote(
                usd_per_hour=self.rates.of(node),
                source=Source.RATES,
                at=self.rates.since,
                basis=_at_rates(node, self.rates),
            )
        if machine is not None and machine.instance_type:
            return self._bought(machine)
        if shape is not None:
            return self._stood_for(shape, buys)
        return (
            f"It is not known what kind of machine {node.name} is; an admin can say what a CPU, "
            "a GiB and a GPU cost here."
        )

    def of_shape(
        self, shape: Shape, buys: Purchase, offerings: Sight[tuple[Offering, ...]]
    ) -> Quote | str:
        """Return what a worker of that shape would cost if it were started now.

        Where the edge tells prices, machines are bought: the cheapest of that shape counts.
        """
        if self.rates is not None:
            node = Node(
                name=shape.name,
                state="",
                cpus=shape.cpus,
                memory_mib=shape.memory_mib,
                gpus=shape.gpus,
            )
            return self.quote(node, None, shape, buys)
        if not isinstance(offerings, Seen) or not offerings.value:
            return self._stood_for(shape, buys)
        offered = [
            each
            for each in offerings.value
            if each.instance_type in shape.types and each.lifecycle == buys
        ]
        if offered:
            best = min(offered, key=lambda each: (each.usd_per_hour, each.zone))
            return Quote(
                usd_per_hour=best.usd_per_hour,
                source=Source.EDGE,
                at=offerings.at,
                basis=f"{best.instance_type} {best.lifecycle} in {best.zone}",
            )
        # Without a zone no edge price is found: what remains is the cloud's list, then the table.
        quotes = [
            self._bought(Machine(name=shape.name, instance_type=kind, lifecycle=buys))
            for kind in shape.types
        ]
        known = [each for each in quotes if isinstance(each, Quote)]
        if not known:
            return f"No price is known for the shape {shape.name}."
        return min(known, key=lambda each: each.usd_per_hour)

    def _bought(self, machine: Machine) -> Quote | str:
        kind, lifecycle, zone = machine.instance_type, machine.lifecycle, machine.zone
        basis = f"{kind} {lifecycle}" + (f" in {zone}" if zone else "")
        if heard := self.edge.get((kind, lifecycle, zone)):
            return Quote(
                usd_per_hour=heard.usd_per_hour, source=Source.EDGE, at=heard.at, basis=basis
            )
        buys = Purchase.SPOT if lifecycle == Purchase.SPOT else Purchase.ON_DEMAND
        for prices, at, source in (
            (self.cloud, self.cloud_at, Source.CLOUD),
            (self.table, self.table_at, Source.TABLE),
        ):
            price = prices.get(kind)
            amount = None if price is None else price.of(buys)
            if amount is not None and at is not None:
                return Quote(usd_per_hour=amount, source=source, at=at, basis=basis)
        return f"No price is known for {basis}."

    def _stood_for(self, shape: Shape, buys: Purchase) -> Quote | str:
        amount = shape.usd_per_hour(buys)
        if amount is None:
            return f"No price is known for the shape {shape.name}."
        kind = shape.types[0] if shape.types else shape.name
        return Quote(
            usd_per_hour=amount,
            source=Source.TABLE,
            at=self.table_at,
            basis=f"{kind} {buys}",
            estimate=True,
        )


def is_stale(quote: Quote, offerings: Sight[tuple[Offering, ...]], now: datetime) -> bool:
    """Say whether who told a price has been silent for long; what the edge did not tell never is."""
    if quote.source is not Source.EDGE:
        return False
    return not isinstance(offerings, Seen) or offerings.age(now) > STALE_AFTER


def heard(
    before: Mapping[tuple[str, str, str], Heard],
    offerings: tuple[Offering, ...],
    machines: tuple[Machine, ...],
    now: datetime,
) -> Mapping[tuple[str, str, str], Heard]:
    """Return the prices of the machines there are, each with since when it has been so."""
    wanted = {(each.instance_type, each.lifecycle, each.zone) for each in machines}
    found = dict(before)
    for each in offerings:
        key = each.instance_type, each.lifecycle, each.zone
        known = found.get(key)
        if key in wanted and (known is None or known.usd_per_hour != each.usd_per_hour):
            found[key] = Heard(usd_per_hour=each.usd_per_hour, at=now)
    return found


def _at_rates(node: Node, rates: Rates) -> str:
    parts = [
        f"{number:g} {unit} at {dollars(rate)}"
        for number, unit, rate in (
            (node.cpus, "CPUs", rates.cpu),
            (node.memory_mib / MIB_PER_GIB, "GiB", rates.gib),
            (node.gpus, "GPUs", rates.gpu),
        )
        if number and rate
    ]
    return ", ".join(parts) or "own rates"

"""A cluster's shapes and first policy: its settings, over the table and prices that are shipped."""

from collections.abc import Mapping

from clusterra.adapters.ec2_prices import prices
from clusterra.core.errors import Invalid
from clusterra.core.money import micros_of
from clusterra.core.scaling.policy import Policy, Rule
from clusterra.core.scaling.shapes import Family, Price, Purchase, Shape, offered, table
from clusterra.settings import ScalingSettings, ShapeSettings


def shapes(settings: ScalingSettings) -> Mapping[str, Shape]:
    """Return the workers that this cluster can have, by name."""
    priced = prices(settings.region)
    every = table(
        priced,
        own=[_shape(each, priced) for each in settings.shapes],
        only_own=settings.only_these,
    )
    return {name: shape for name, shape in every.items() if shape.arch in settings.architectures}


def policy(settings: ScalingSettings) -> Policy:
    """Return how its fleet grows and shrinks until an admin says otherwise."""
    try:
        return Policy(
            rule=Rule(settings.rule),
            max_workers=settings.max_workers,
            max_usd_per_hour=micros_of(str(settings.max_usd_per_hour)) or None,
            idle_seconds=settings.idle_seconds,
            purchase=Purchase(settings.purchase),
            architectures=settings.architectures,
            minimum={shape: int(count) for shape, count in settings.minimum.items()},
        )
    except ValueError as error:
        raise Invalid(
            f"In clusters.scaling: {error}.",
            hint=f"The rules are {', '.join(Rule)}; one buys {' or '.join(Purchase)}; "
            "minimum is a whole number for each shape.",
        ) from None


def _shape(own: ShapeSettings, priced: Mapping[str, Price]) -> Shape:
    cpus, memory_mib = offered(own.vcpus, own.memory_gib)
    known = [priced[each] for each in own.types if each in priced]
    on_demand = [price.on_demand for price in known if price.on_demand is not None]
    spot = [price.spot for price in known if price.spot is not None]
    return Shape(
        name=own.name,
        family=_family(own),
        size=own.name,
        arch=own.arch,
        vcpus=own.vcpus,
        memory_gib=own.memory_gib,
        cpus=own.cpus or cpus,
        memory_mib=own.memory_mib or memory_mib,
        gpus=own.gpus,
        gpu_model=own.gpu_model,
        types=own.types,
        price=Price(
            on_demand=micros_of(str(own.usd_per_hour)) or min(on_demand, default=None),
            spot=None if own.usd_per_hour else min(spot, default=None),
        ),
    )


def _family(own: ShapeSettings) -> Family:
    if own.gpus:
        return Family.GPU
    gib_per_cpu = own.memory_gib / max(own.vcpus, 1)
    if gib_per_cpu <= 3:
        return Family.COMPUTE
    return Family.GENERAL if gib_per_cpu <= 6 else Family.MEMORY

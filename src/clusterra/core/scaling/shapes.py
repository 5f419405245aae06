"""Which workers there can be: a table, and what each row really offers to jobs.

A shape is a family (how much memory there is to a CPU) in a size, or a number of GPUs of a
model. What a machine has and what jobs get of it differ: its system, Kubernetes and
slurmd itself keep a part. Planning goes by what is offered, buying by the whole.

Which machines of a cloud are which shape is data in `machines.py`; what a job may use of all
this is decided in `serves.py`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from clusterra.core.scaling.machines import BY_FAMILY, GIB_PER_VCPU, GPU_MACHINES, TYPE_SIZES, VCPUS

RESERVED_CPUS = 1
RESERVED_MIB = 1328
"""What a worker keeps for itself: 600 MiB for Kubernetes, 400 for the system, 200 before memory is
taken back from jobs, 128 for slurmd."""


class Family(StrEnum):
    """By GiB of memory to a CPU."""

    COMPUTE = "compute"
    GENERAL = "general"
    MEMORY = "memory"
    GPU = "gpu"


class Size(StrEnum):
    XS = "xs"
    SMALL = "small"
    MEDIUM = "medium"
    LARGE = "large"
    XLARGE = "xlarge"


class Purchase(StrEnum):
    ON_DEMAND = "on-demand"
    SPOT = "spot"
    """Cheaper, and can be taken back at any moment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """In millionths of a dollar per hour; None is not known."""

    on_demand: int | None = None
    spot: int | None = None

    def of(self, purchase: Purchase) -> int | None:
        """Return the price when bought so; a machine that is not sold as spot is bought on demand."""
        if purchase is Purchase.SPOT and self.spot is not None:
            return self.spot
        return self.on_demand


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    name: str
    """Of lower-case letters, digits and dashes; the same name always means the same shape."""

    family: Family
    size: str
    arch: str
    """amd64 or arm64."""

    vcpus: int
    memory_gib: int
    cpus: int
    """What it offers to jobs; so are the next three."""

    memory_mib: int
    gpus: int = 0
    gpu_model: str = ""
    """As Slurm and the cloud's scheduler spell it: a10g, l4, h100."""

    types: tuple[str, ...] = ()
    """Machines of a cloud that are this shape, the cheapest first."""

    price: Price = field(default_factory=Price)

    @property
    def features(self) -> frozenset[str]:
        """What a job can ask for by name."""
        words = (self.family, self.size, self.arch, self.name, self.gpu_model)
        return frozenset(str(word) for word in words if word)

    def usd_per_hour(self, purchase: Purchase) -> int | None:
        """Return its price in millionths of a dollar, where it is known."""
        return self.price.of(purchase)


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """Everything that any shape has, in one. Slurm refuses at once what no node it was told of
    could hold, so it is told of some of these as nodes that may come."""

    cpus: int
    memory_mib: int
    gpus: Mapping[str, int]
    """The most of each model."""

    features: frozenset[str]


def table(
    prices: Mapping[str, Price] | None = None,
    *,
    own: Iterable[Shape] = (),
    only_own: bool = False,
) -> Mapping[str, Shape]:
    """Return every shape there is, by name. `own` ones replace those of the same name."""
    prices = prices or {}
    shapes = [] if only_own else [*_families(prices), *_gpus(prices)]
    return {shape.name: shape for shape in (*shapes, *own)}


def offered(vcpus: int, memory_gib: int) -> tuple[int, int]:
    """Return the CPUs and the MiB that a machine of that size has for jobs."""
    return max(vcpus - RESERVED_CPUS, 1), max(memory_gib * 1024 - RESERVED_MIB, 0)


def template(shapes: Mapping[str, Shape]) -> Template:
    """Return what a node would be that no shape exceeds in anything."""
    gpus: dict[str, int] = {}
    for shape in shapes.values():
        if shape.gpus:
            gpus[shape.gpu_model] = max(gpus.get(shape.gpu_model, 0), shape.gpus)
    return Template(
        cpus=max((shape.cpus for shape in shapes.values()), default=1),
        memory_mib=max((shape.memory_mib for shape in shapes.values()), default=1),
        gpus=dict(sorted(gpus.items())),
        features=frozenset().union(*(shape.features for shape in shapes.values())),
    )


def _families(prices: Mapping[str, Price]) -> Iterable[Shape]:
    for (family, arch), generations in BY_FAMILY.items():
        for size, vcpus in VCPUS.items():
            types = [f"{generation}.{TYPE_SIZES[vcpus]}" for generation in generations]
            memory_gib = vcpus * GIB_PER_VCPU[family]
            cpus, memory_mib = offered(vcpus, memory_gib)
            yield Shape(
                name=f"{family}-{size}" + ("-arm" if arch == "arm64" else ""),
                family=Family(family),
                size=Size(size),
                arch=arch,
                vcpus=vcpus,
                memory_gib=memory_gib,
                cpus=cpus,
                memory_mib=memory_mib,
                types=_cheapest_first(types, prices),
                price=_price(types, prices),
            )


def _gpus(prices: Mapping[str, Price]) -> Iterable[Shape]:
    for machine in GPU_MACHINES:
        cpus, memory_mib = offered(machine.vcpus, machine.memory_gib)
        yield Shape(
            name=f"gpu-{machine.model}-x{machine.gpus}",
            family=Family.GPU,
            size=f"x{machine.gpus}",
            arch="amd64",
            vcpus=machine.vcpus,
            memory_gib=machine.memory_gib,
            cpus=cpus,
            memory_mib=memory_mib,
            gpus=machine.gpus,
            gpu_model=machine.model,
            types=(machine.type,),
            price=_price([machine.type], prices),
        )


def _cheapest_first(types: list[str], prices: Mapping[str, Price]) -> tuple[str, ...]:
    """Sort by price; those without one stay in their order, after the others."""

    def price(machine: str) -> tuple[bool, int]:
        known = prices.get(machine, Price()).on_demand
        return known is None, known or 0

    return tuple(sorted(types, key=price))


def _price(types: list[str], prices: Mapping[str, Price]) -> Price:
    known = [prices[machine] for machine in types if machine in prices]
    return Price(
        on_demand=min(
            (each.on_demand for each in known if each.on_demand is not None), default=None
        ),
        spot=min((each.spot for each in known if each.spot is not None), default=None),
    )

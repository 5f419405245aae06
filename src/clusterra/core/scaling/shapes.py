"""Which workers there can be: a table, and what each row really offers to jobs.

A shape is a family (how much memory there is to a CPU) in a size, or a number of GPUs of a
model. What a machine has and what jobs get of it differ: its system, Kubernetes and
slurmd itself keep a part. Planning goes by what is offered, buying by the whole.
"""

from dataclasses import dataclass, field
from enum import StrEnum

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
        if purchase is Purchase.SPOT and self.price.spot is not None:
            return self.price.spot
        return self.price.on_demand

"""Which workers an embedded cluster may have: what its jobs need, or so many of one shape.

Only what can be is decided here, and written into Slurm's configuration and the settings of
the control plane. How many there are at a moment is decided there, from the queue.
"""

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass

from clusterra.adapters.ec2_prices import prices
from clusterra.core.scaling.shapes import Family, Shape, table
from clusterra.settings import ScalingSettings

FIXED = "w"
"""The shape of workers whose number was given; they are called w-1, w-2 …"""

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalFleet:
    arch: str
    """Of this machine: jobs for another one cannot run here."""

    workers: int | None = None
    """How many there are, always; None has as many as the jobs need."""

    fixed: Shape | None = None
    """What each of them is, where their number is given."""

    @property
    def shapes(self) -> Mapping[str, Shape]:
        """Return every shape that Slurm is to know of.

        A cluster of fixed size knows all the others too: a job that is too big for it waits,
        as it would for workers that are not there yet.
        """
        every = table(own=(self.fixed,) if self.fixed else ())
        return {name: shape for name, shape in every.items() if shape.arch == self.arch}


def local_fleet(workers: int | None) -> LocalFleet:
    arch = _ARCHITECTURES.get(platform.machine(), platform.machine())
    if workers is None:
        return LocalFleet(arch=arch)
    host_mib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    cpus, memory_mib = os.cpu_count() or 1, share_of_memory(host_mib, workers)
    shape = Shape(
        name=FIXED,
        family=Family.GENERAL,
        size=FIXED,
        arch=arch,
        vcpus=cpus,
        memory_gib=max(memory_mib // 1024, 1),
        # Nothing is kept back: what the machine needs for itself is small beside its jobs.
        cpus=cpus,
        memory_mib=memory_mib,
        types=like(cpus, memory_mib, arch),
    )
    return LocalFleet(arch=arch, workers=workers, fixed=shape)


def like(cpus: int, memory_mib: int, arch: str) -> tuple[str, ...]:
    """Return the machines of a cloud that are nearest to a worker and by which it is priced.

    They are the smallest that have as much, or else the largest there are; the cheapest first.
    """
    every = table(prices(ScalingSettings().region)).values()
    sold = [shape for shape in every if shape.arch == arch and not shape.gpus]
    big_enough = [
        shape for shape in sold if shape.vcpus >= cpus and shape.memory_gib * 1024 >= memory_mib
    ]
    nearest = min(big_enough, key=_bigness) if big_enough else max(sold, key=_bigness, default=None)
    return nearest.types if nearest else ()


def _bigness(shape: Shape) -> tuple[int, int]:
    return shape.vcpus, shape.memory_gib


def share_of_memory(host_mib: int, workers: int) -> int:
    """Share the host's memory among its workers, in steps of 256 MiB."""
    return max(host_mib // max(workers, 1) // 256 * 256, 256)

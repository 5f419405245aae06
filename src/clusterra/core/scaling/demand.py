"""What waiting jobs need of the fleet.

Ten thousand waiting jobs are seldom more than a few kinds: jobs that ask for the same are
counted together, and planning takes as long as there are kinds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What one job asks for, on each of its nodes. Jobs with equal needs are planned as one."""

    nodes: int = 1
    cpus: int = 1
    memory_mib: int = 0
    gpus: int = 0
    gpu_model: str = ""
    """Empty takes any."""

    exclusive: bool = False
    """Shares its nodes with nobody."""

    features: str = ""
    """Slurm's constraint, as `arm64&large`."""

    partition: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Waiting jobs with one need, the first to be served first."""

    need: Need
    jobs: tuple[tuple[int, int], ...]
    """Each entry's job id and how many jobs it stands for: an array that waits is one entry."""

    @property
    def count(self) -> int:
        return sum(number for _, number in self.jobs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    lines: Sequence[Line] = ()
    """By the highest priority in each, highest first."""

    set_aside: Mapping[int, str] = field(default_factory=dict)
    """Waiting jobs that more workers would not start, and Slurm's word for what they wait for."""

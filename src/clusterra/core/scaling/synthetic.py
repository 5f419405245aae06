"""A made-up queue for simulations: the mix of a working lab, the same for the same seed.

Many small jobs come in arrays, a few are large, and more come by day than by night. The
numbers are drawn by arithmetic alone, so a seed means the same queue everywhere.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from clusterra.core.scaling.demand import Need
from clusterra.core.scaling.yard import Arrival

T = TypeVar("T")

DAY = 24 * 3600
_MASK = (1 << 64) - 1


class _Kind(NamedTuple):
    weight: int
    """How often it is submitted, against the others."""

    need: Need
    minutes: int
    """A usual run; half of them are shorter."""

    most: int
    """Jobs that one submission may have."""


_GIB = 1024

_KINDS = (
    _Kind(24, Need(cpus=1, memory_mib=2 * _GIB), 4, 200),
    _Kind(16, Need(cpus=2, memory_mib=4 * _GIB), 12, 100),
    _Kind(14, Need(cpus=4, memory_mib=16 * _GIB), 25, 60),
    _Kind(10, Need(cpus=4, memory_mib=60 * _GIB), 40, 20),
    _Kind(10, Need(cpus=8, memory_mib=16 * _GIB), 30, 24),
    _Kind(8, Need(cpus=16, memory_mib=60 * _GIB), 60, 8),
    _Kind(6, Need(cpus=8, memory_mib=120 * _GIB), 90, 4),
    _Kind(5, Need(cpus=30, memory_mib=60 * _GIB), 120, 2),
    _Kind(4, Need(nodes=4, cpus=15, memory_mib=28 * _GIB), 75, 1),
    _Kind(3, Need(cpus=48, memory_mib=200 * _GIB, exclusive=True), 180, 1),
)

_BY_HOUR = (1, 1, 1, 1, 1, 1, 2, 4, 8, 12, 14, 12, 9, 12, 14, 13, 11, 8, 5, 4, 3, 2, 2, 1)
"""How much comes in each hour of a day."""


def synthetic(jobs: int, seed: int, *, days: int = 1) -> list[Arrival]:
    """Return so many jobs, spread over so many days, in the order they come."""
    draw = _Draw(seed)
    made: list[Arrival] = []
    while len(made) < jobs:
        kind = draw.among(_KINDS, [each.weight for each in _KINDS])
        at = _moment(draw, days)
        together = 1 + draw.below(kind.most) * draw.below(100) // 100
        for _ in range(min(together, jobs - len(made))):
            # From a quarter of the usual to four times as long, the long ones rarer.
            quarters = 1 + draw.below(7) + (draw.below(9) if draw.below(5) == 0 else 0)
            made.append(Arrival(at=at, need=kind.need, seconds=kind.minutes * 15 * quarters))
    return sorted(made, key=lambda each: each.at)


def _moment(draw: "_Draw", days: int) -> int:
    hour = draw.among(range(24), _BY_HOUR)
    return draw.below(days) * DAY + hour * 3600 + draw.below(3600)


class _Draw:
    """SplitMix64 (Steele, Lea and Flood, 2014)."""

    def __init__(self, seed: int) -> None:
        self._state = seed & _MASK

    def below(self, end: int) -> int:
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        mixed = self._state
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
        return (mixed ^ (mixed >> 31)) % end

    def among(self, things: Sequence[T], weights: Sequence[int]) -> T:
        place = self.below(sum(weights))
        for thing, weight in zip(things, weights, strict=True):
            place -= weight
            if place < 0:
                return thing
        raise AssertionError("the weights are those that were added up")

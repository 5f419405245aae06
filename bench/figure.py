"""What a figure is: a measured number, the raw part beside it, and the goal it is held to.

Machines are noisy and differ; a number beside its raw part, measured in the same
minute, says more than a number alone. `ratio` is always ours divided by beside.
"""

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

from bench.stage import Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    bound: float
    least: bool = False
    """At least the bound, where more is better; otherwise at most."""

    of_ratio: bool = False
    """The bound is for the ratio; otherwise for our own number."""

    def met(self, ours: float, ratio: float) -> bool:
        value = ratio if self.of_ratio else ours
        return value >= self.bound if self.least else value <= self.bound

    def words(self, unit: str) -> str:
        sign = "≥" if self.least else "≤"
        return f"{sign} {self.bound:g}×" if self.of_ratio else f"{sign} {self.bound:g} {unit}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One figure, measured."""

    name: str
    what: str
    ours: float
    unit: str
    beside: float
    beside_what: str
    goal: Goal

    @property
    def ratio(self) -> float:
        return self.ours / self.beside if self.beside else float("inf")

    @property
    def met(self) -> bool:
        return self.goal.met(self.ours, self.ratio)

    def line(self) -> str:
        ours, beside = f"{amount(self.ours)} {self.unit}", f"{amount(self.beside)} {self.unit}"
        return (
            f"{self.name:<19}  {ours:>12}  {beside:>13}  {self.ratio:>7.2f}×"
            f"  {self.goal.words(self.unit):>10}  {'met' if self.met else 'short'}"
        )

    def record(self) -> dict[str, Any]:
        """Return the row as the report keeps it, with numbers no finer than they were measured."""
        return asdict(self) | {
            "ours": round(self.ours, 4),
            "beside": round(self.beside, 4),
            "ratio": round(self.ratio, 4),
            "goal": self.goal.words(self.unit),
            "met": self.met,
        }


def amount(value: float) -> str:
    """Write a number with three digits that matter and no exponent."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """Something that can be measured, and the names of the rows it gives."""

    rows: tuple[str, ...]
    measure: Callable[[Stage], Iterable[Row]]

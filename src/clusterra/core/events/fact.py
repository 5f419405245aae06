"""What makes a class a kind of event: a name, a shape, and a sentence about it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, TypeVar, dataclass_transform

NAMES: dict[str, type["Fact"]] = {}
"""Every kind of event by its name. Filled by `catalogue`, read by whoever documents or checks."""


class Fact:
    """Base of all: nothing is emitted that is not one of these."""

    __slots__ = ()
    type: ClassVar[str] = ""


F = TypeVar("F", bound=Fact)


@dataclass_transform(kw_only_default=True, frozen_default=True)
def event(name: str) -> Callable[[type[F]], type[F]]:
    """Declare a kind of event. Its docstring is its entry in the reference."""

    def declare(kind: type[F]) -> type[F]:
        if name in NAMES:
            raise ValueError(f"{name} is declared twice.")
        made = dataclass(frozen=True, slots=True, kw_only=True)(kind)
        made.type = name
        NAMES[name] = made
        return made

    return declare

"""One of several, by its name; and what to say when it is none of them."""

from enum import StrEnum
from typing import TypeVar

from clusterra.core.errors import Invalid
from clusterra.core.quote import shown

E = TypeVar("E", bound=StrEnum)


def one_of(kind: type[E], text: str, *, what: str, at: str) -> E:
    """Return the one that is meant, however its letters are cased. Raises Invalid."""
    try:
        return kind(text.strip().lower())
    except ValueError:
        raise Invalid(
            f"There is no {what} {shown(text)}.", hint=f"Say one of: {', '.join(kind)}.", at=at
        ) from None

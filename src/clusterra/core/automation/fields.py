"""One field of what was sent: what it must be, and what to say if it is not."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from clusterra.core.errors import Invalid
from clusterra.core.jobs.wish import unknown_field
from clusterra.core.quote import shown

T = TypeVar("T")

MOST_FACTOR = 100.0


def whole(value: Any, usual: int, least: int, most: int, *, at: str) -> int:
    if value is None:
        return usual
    if type(value) is not int or not least <= value <= most:
        raise wrong(value, f"a whole number from {least:,} to {most:,}", at=at)
    return value


def factor(value: Any, usual: float, *, at: str) -> float:
    if value is None:
        return usual
    if type(value) not in (int, float) or not 1 <= value <= MOST_FACTOR:
        raise wrong(value, f"a number from 1 to {MOST_FACTOR:g}", at=at)
    return float(value)


def amount(value: Any, read: Callable[[str, str], int | None], *, at: str) -> int | None:
    if value is None:
        return None
    if type(value) not in (int, str):
        raise wrong(value, "an amount, as 64G or 2h", at=at)
    return read(str(value), at)


def truth(value: Any, *, at: str) -> bool:
    if value is None:
        return False
    if not isinstance(value, bool):
        raise wrong(value, "true or false", at=at)
    return value


def text(value: Any, *, at: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise wrong(value, "text", at=at)
    return value


def texts_of(value: Any, *, at: str) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise wrong(value, "a list of texts", at=at)
    return tuple(value)


def word(kind: Any, value: Any, usual: T, *, at: str) -> T:
    if value is None or value == "":
        return usual
    try:
        found: T = kind(value)
    except ValueError:
        words: Sequence[str] = [each.value for each in kind]
        raise wrong(value, f"one of: {', '.join(words)}", at=at) from None
    return found


def object_of(value: Any, *, at: str) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise wrong(value, "an object", at=at)
    return value


def check_fields(table: Mapping[str, Any], known: Iterable[str], *, at: str = "") -> None:
    known = tuple(known)
    for name in table:
        if name not in known:
            unknown = unknown_field(name, known)
            if not known:
                unknown.hint = "Leave it out."
            unknown.at = f"{at}.{unknown.at}" if at else unknown.at
            raise unknown


def wrong(value: Any, wanted: str, *, at: str) -> Invalid:
    return Invalid(
        f"{at} must be {wanted}, got {shown(value)}.", hint="Mend it, or leave it out.", at=at
    )

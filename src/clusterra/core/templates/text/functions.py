"""The functions that a text can use, but `quote`, which depends on where it stands.

They are those of the public recipes and mean what they mean there.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clusterra.core.errors import Invalid
from clusterra.core.quote import shown

LONGEST = 8 << 20
"""Characters that one value may become."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    least: int
    most: int
    example: str
    do: Callable[..., Any]


def written(value: Any) -> str:
    """Write a value as Go does, but a whole number always in full."""
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case float():
            return str(int(value)) if value.is_integer() else repr(value)
        case Mapping():
            return "map[" + " ".join(f"{k}:{written(value[k])}" for k in sorted(value)) + "]"
        case list() | tuple():
            return "[" + " ".join(map(written, value)) + "]"
        case _:
            return str(value)


def holds(value: Any) -> bool:
    """Say whether `if` takes it: anything but false, 0, nothing, and what is empty."""
    return bool(value)


def _int(value: Any) -> int:
    found = _number(value, "int")
    return int(found)


def _gt(left: Any, right: Any) -> bool:
    return _number(left, "gt") > _number(right, "gt")


def _number(value: Any, function: str) -> int | float:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int | float):
        return value
    try:
        text = str(value).strip()
        return float(text) if any(each in text for each in ".eE") else int(text)
    except (ValueError, OverflowError):
        raise Invalid(
            f"{function} is given {shown(value)}, which is not a number.",
            hint="Give it a number.",
            code="template-value",
        ) from None


def _index(value: Any, *keys: Any) -> Any:
    for key in keys:
        match value:
            case Mapping():
                if key not in value:
                    raise _no_such(key, f"there are: {', '.join(sorted(value)) or 'none'}")
                value = value[key]
            case str() | Sequence() if isinstance(key, int) and not isinstance(key, bool):
                if not 0 <= key < len(value):
                    raise _no_such(key, f"there are {len(value)}, counted from 0")
                value = value[key]
            case _:
                raise _no_such(key, "it is neither a list nor an object")
    return value


def _no_such(key: Any, there: str) -> Invalid:
    return Invalid(
        f"index finds nothing at {shown(key)}: {there}.",
        hint="Ask for one that is there.",
        code="template-value",
    )


def _replace(old: Any, new: Any, text: Any) -> str:
    before, after = written(old), written(new)
    whole = written(text)
    if len(whole) + whole.count(before) * len(after) > LONGEST:
        raise _too_long()
    return whole.replace(before, after)


def _indent(by: Any, text: Any) -> str:
    width = int(_number(by, "indent"))
    whole = written(text)
    if not 0 <= width <= 200:
        raise Invalid("indent takes 0 to 200 spaces.", hint="Indent less.", code="template-value")
    if len(whole) + (whole.count("\n") + 1) * width > LONGEST:
        raise _too_long()
    pad = " " * width
    return pad + whole.replace("\n", "\n" + pad)


def _too_long() -> Invalid:
    return Invalid(
        f"A value would become longer than {LONGEST:,} characters.",
        hint="Keep data in files and let the script read them.",
        code="template-value",
    )


def _in_place(value: Any) -> Any:
    raise AssertionError(f"quote is done where it is written, not here: {value!r}")


FUNCTIONS: Mapping[str, Function] = {
    "quote": Function(least=1, most=1, example="{{ .params.name | quote }}", do=_in_place),
    "int": Function(least=1, most=1, example="{{ .params.count | int }}", do=_int),
    "gt": Function(least=2, most=2, example="{{ if gt .params.count 1 }}", do=_gt),
    "index": Function(least=2, most=9, example='{{ index .params.table "key" }}', do=_index),
    "replace": Function(
        least=3, most=3, example='{{ .params.name | replace " " "_" }}', do=_replace
    ),
    "indent": Function(least=2, most=2, example="{{ .config | indent 2 }}", do=_indent),
}

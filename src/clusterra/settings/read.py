"""From tables to dataclasses, strictly: what is misspelt is named, with its nearest neighbour."""

import dataclasses
import types
import typing
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

from clusterra.core.errors import Invalid


def tables(of: type, *, repeated: bool = False) -> Iterator[tuple[str, type[Any]]]:
    """Return the tables below one, by name: those that stand once, or those that may be repeated."""
    for name, hint in typing.get_type_hints(of).items():
        if (typing.get_origin(hint) is tuple) is repeated:
            for arm in typing.get_args(hint) or (hint,):
                if dataclasses.is_dataclass(arm):
                    yield name, typing.cast("type[Any]", arm)


T = TypeVar("T")


def build(into: type[T], table: Mapping[str, Any], at: str = "") -> T:
    """Make a settings value of a TOML table, or say which key is wrong."""
    assert dataclasses.is_dataclass(into)
    fields = {each.name: each for each in dataclasses.fields(into)}
    hints = typing.get_type_hints(into)
    for key in table:
        if key not in fields:
            near = get_close_matches(key, fields, n=1)
            raise Invalid(
                f"There is no setting {at}{key}.",
                hint=f"Did you mean {at}{near[0]}?"
                if near
                else f"The settings here are: {', '.join(fields)}.",
            )
    values = {key: _convert(hints[key], value, f"{at}{key}") for key, value in table.items()}
    for name, each in fields.items():
        required = each.default is each.default_factory is dataclasses.MISSING
        if name not in values and required:
            raise Invalid(
                f"The setting {at}{name} is missing.", hint="Add it to the settings file."
            )
    return typing.cast("T", into(**values))


_WORDS: Mapping[Any, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    Path: "a path",
}


def _convert(hint: Any, value: Any, at: str) -> Any:
    if isinstance(hint, types.UnionType):
        hint = next(arm for arm in typing.get_args(hint) if arm is not types.NoneType)
    if dataclasses.is_dataclass(hint):
        return build(typing.cast("type[Any]", hint), value, f"{at}.")
    if typing.get_origin(hint) is Mapping:
        return {str(key): str(each) for key, each in value.items()}
    if typing.get_origin(hint) is tuple:
        arm = typing.get_args(hint)[0]
        if isinstance(value, str):  # from a variable
            value = value.replace(",", " ").split()
        return tuple(_convert(arm, each, f"{at}[{n}]") for n, each in enumerate(value))
    try:
        if hint is bool:
            return value if isinstance(value, bool) else {"true": True, "false": False}[value]
        return hint(value)
    except (TypeError, ValueError, KeyError):
        raise Invalid(
            f"The setting {at} cannot be {value!r}.", hint=f"It is {_WORDS.get(hint, 'text')}."
        ) from None

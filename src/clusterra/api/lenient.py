"""Read what a program of somebody else sends: one odd member costs that member, not the rest.

A member that is not of its type counts as left out. One without which the whole says
nothing is missed aloud. A list is read as a whole or not at all, unless its rows stand for
themselves: half a list of nodes would look like all there are.
"""

import dataclasses
import json
import typing
from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

import msgspec

from clusterra.core.errors import Malformed

T = TypeVar("T")

Members = Mapping[str, msgspec.Raw]

_members = msgspec.json.Decoder(dict[str, msgspec.Raw])
_rows = msgspec.json.Decoder(list[msgspec.Raw])


class Unreadable(Exception):
    """The named member is missing or is not what it should be."""


def members(body: bytes) -> Members:
    """Return the members of a JSON object, each still to be read. Raises Malformed."""
    try:
        try:
            return _members.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError):
            # NaN, which some programs write, and names in another encoding are no JSON; what
            # stands beside them is. Slower, and only needed then.
            forgiving = json.loads(body.decode(errors="replace"))
            return _members.decode(msgspec.json.encode(forgiving))
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise Malformed(
            f"The request is not a JSON object: {error}.",
            hint="Send one JSON object, as application/json.",
            code="malformed-json",
        ) from None


def read_as(into: type[T], given: Members) -> T:
    """Make a value of what can be used of these members. Raises Unreadable."""
    found: dict[str, Any] = {}
    for name, (decoder, required) in _fields(typing.cast("Any", into)).items():
        try:
            found[name] = decoder.decode(given[name])
        except (KeyError, msgspec.MsgspecError, UnicodeDecodeError):
            if required:
                raise Unreadable(name) from None
    return into(**found)


def rows_as(into: type[T], raw: msgspec.Raw, *, whole: bool) -> list[T] | None:
    """Read a list row by row; with `whole`, None if one cannot be used, else without those."""
    try:
        rows = _rows.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None if whole else []
    found: list[T] = []
    for row in rows:
        try:
            found.append(read_as(into, _members.decode(row)))
        except (Unreadable, msgspec.MsgspecError, UnicodeDecodeError):
            if whole:
                return None
    return found


@cache
def _fields(into: type[Any]) -> dict[str, tuple[msgspec.json.Decoder[Any], bool]]:
    hints = typing.get_type_hints(into)
    return {
        each.name: (
            msgspec.json.Decoder(hints[each.name]),
            each.default is each.default_factory is dataclasses.MISSING,
        )
        for each in dataclasses.fields(into)
    }

"""Hold a value to a JSON Schema, and say in words what is wrong with it.

As much of draft 2020-12 as our own schemas use, and a schema that uses more is refused when it is
first held against something: what is not checked must not look as if it were.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from clusterra.core.quote import shown

Where = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    at: Where
    what: str
    hint: str = ""


_TYPES: Mapping[str, tuple[tuple[type, ...], str]] = {
    "object": ((dict,), "an object"),
    "array": ((list,), "a list"),
    "string": ((str,), "text"),
    "boolean": ((bool,), "true or false"),
    "integer": ((int,), "a whole number"),
    "number": ((int, float), "a number"),
}
_KNOWN = frozenset(
    {"$schema", "$id", "title", "type", "const", "enum", "pattern", "minLength", "minimum"}
    | {"properties", "required", "additionalProperties", "items", "allOf", "if", "then"}
)


def faults(value: Any, schema: Any, at: Where = ()) -> Iterator[Fault]:
    """Yield everything that is wrong with a value."""
    if schema is False:
        yield Fault(at=at, what="must not be here.", hint="Take it out.")
        return
    if schema is True:
        return
    if unknown := schema.keys() - _KNOWN:
        raise NotImplementedError(f"the schema uses {sorted(unknown)}")
    if "type" in schema and not _is(value, schema["type"]):
        yield Fault(at=at, what=f"must be {_TYPES[schema['type']][1]}, not {shown(value)}.")
        return
    yield from _of_value(value, schema, at)
    if isinstance(value, dict):
        yield from _of_object(value, schema, at)
    if isinstance(value, list) and "items" in schema:
        for number, each in enumerate(value):
            yield from faults(each, schema["items"], (*at, number))
    for each in schema.get("allOf", ()):
        yield from faults(value, each, at)
    if "if" in schema and not any(faults(value, schema["if"], at)):
        yield from faults(value, schema["then"], at)


def _is(value: Any, kind: str) -> bool:
    wanted = _TYPES[kind][0]
    # To Python true is a whole number, to nobody else.
    return isinstance(value, wanted) and (kind == "boolean" or not isinstance(value, bool))


def _of_value(value: Any, schema: Mapping[str, Any], at: Where) -> Iterator[Fault]:
    if "const" in schema and not _same(value, schema["const"]):
        yield Fault(at=at, what=f"must be {shown(schema['const'])}, not {shown(value)}.")
    if "enum" in schema and not any(_same(value, each) for each in schema["enum"]):
        yield Fault(at=at, what=f"cannot be {shown(value)}.", hint=_choices(value, schema["enum"]))
    if "minimum" in schema and isinstance(value, int | float) and value < schema["minimum"]:
        yield Fault(at=at, what=f"must be at least {schema['minimum']}, not {shown(value)}.")
    if isinstance(value, str):
        if len(value) < schema.get("minLength", 0):
            yield Fault(at=at, what="is empty.", hint="Give it a value.")
        elif "pattern" in schema and not re.search(schema["pattern"], value):
            yield Fault(
                at=at,
                what=f"cannot be {shown(value)}.",
                hint=f"It has to match {schema['pattern']}.",
            )


def _of_object(value: dict[str, Any], schema: Mapping[str, Any], at: Where) -> Iterator[Fault]:
    properties = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            yield Fault(at=(*at, name), what="is missing.", hint="Add it.")
    for name, each in value.items():
        if name in properties:
            yield from faults(each, properties[name], (*at, name))
        elif schema.get("additionalProperties") is False:
            yield Fault(at=(*at, name), what="is not known here.", hint=_choices(name, properties))


def _same(value: Any, other: Any) -> bool:
    return value == other and isinstance(value, bool) == isinstance(other, bool)


def _choices(value: Any, known: Any) -> str:
    names = [each for each in known if isinstance(each, str)]
    near = get_close_matches(str(value), names, n=1)
    return f"Did you mean {near[0]}?" if near else f"There are: {', '.join(names)}."

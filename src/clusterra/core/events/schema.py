"""The shape of each kind of event as JSON Schema (2020-12), from its dataclass.

Schemas are open: a later version may say more, and a reader who refuses what it does not
know would break for nothing. Every field is always there, so all are required.
"""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from clusterra.core.events.fact import Fact

DIALECT = "https://json-schema.org/draft/2020-12/schema"

Schema = dict[str, Any]

_TYPES: Mapping[type, Schema] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    datetime: {"type": "string", "format": "date-time"},
}


def schema_id(type: str) -> str:
    """Return what an event's `dataschema` names."""
    return f"urn:clusterra:event:{type}:1"


def data_schema(kind: type[Fact], said: Mapping[str, str]) -> Schema:
    """Return the schema of an event's `data`; `said` has the sentence about each field."""
    hints = get_type_hints(kind)
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]  # facts are dataclasses
    return {
        "title": kind.__name__,
        "description": " ".join((kind.__doc__ or "").split()),
        "type": "object",
        "properties": {
            name: _of(hints[name]) | ({"description": said[name]} if said.get(name) else {})
            for name in names
        },
        "required": names,
    }


def envelope_schema(kind: type[Fact], envelope: Schema, data: Schema) -> Schema:
    """Return the schema of a whole event of one kind: the envelope of all, made particular."""
    particular = {
        "type": {"const": kind.type},
        "dataschema": {"const": schema_id(kind.type)},
        "data": data,
    }
    return {
        "title": kind.type,
        "description": " ".join((kind.__doc__ or "").split()),
        "allOf": [envelope, {"type": "object", "properties": particular}],
    }


def _of(hint: Any) -> Schema:
    if get_origin(hint) is UnionType:
        [one] = [_TYPES[each] for each in get_args(hint) if each is not NoneType]
        return one | {"type": [one["type"], "null"]}
    if get_origin(hint) is tuple:
        return {"type": "array", "items": _of(get_args(hint)[0])}
    if is_dataclass(hint):
        parts = get_type_hints(hint)
        return {
            "type": "object",
            "properties": {name: _of(part) for name, part in parts.items()},
            "required": [*parts],
        }
    return dict(_TYPES[hint])

"""The catalogue of events as documents: JSON Schemas, OpenAPI `webhooks`, AsyncAPI.

All are made from the dataclasses of the catalogue, their docstrings, and the
sentences under their fields, which are read from the source.
"""

import ast
import inspect
from collections.abc import Iterator
from textwrap import dedent
from typing import Any

from pydantic import TypeAdapter

from clusterra import __version__
from clusterra.api import sse
from clusterra.core.events.catalogue import CATALOGUE
from clusterra.core.events.fact import Fact
from clusterra.core.events.frames import TYPE
from clusterra.core.events.schema import (
    DIALECT,
    Schema,
    data_schema,
    envelope_schema,
    schema_id,
)
from clusterra.wire.events import EventView

REF = "#/components/schemas/"
MEDIA_TYPE = "application/cloudevents+json"


def documented(kind: type) -> dict[str, str]:
    """Read the sentence under each field of a class, those it inherits included."""
    said: dict[str, str] = {}
    for each in reversed(kind.__mro__[:-1]):
        said |= dict(_documented(each))
    return said


def _documented(kind: type) -> Iterator[tuple[str, str]]:
    [body] = ast.parse(dedent(inspect.getsource(kind))).body
    assert isinstance(body, ast.ClassDef)
    name = ""
    for node in body.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            name = node.target.id
            yield name, ""
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and name:
            yield name, " ".join(str(node.value.value).split())


def data_schemas() -> dict[str, Schema]:
    """Return the schema of each kind's `data`, by the kind's class."""
    return {kind.__name__: data_schema(kind, documented(kind)) for kind in CATALOGUE.values()}


def event_schemas() -> dict[str, Schema]:
    """Return the components that describe every event: the envelope, the data, and both."""
    made = TypeAdapter(EventView).json_schema(ref_template=REF + "{model}")
    for name, text in documented(EventView).items():
        if text:
            made["properties"][name]["description"] = text
    return {
        EventView.__name__: made,
        **data_schemas(),
        **{
            _event(kind): envelope_schema(
                kind, {"$ref": REF + EventView.__name__}, {"$ref": REF + kind.__name__}
            )
            for kind in CATALOGUE.values()
        },
    }


def _event(kind: type[Fact]) -> str:
    return f"{kind.__name__}Event"


def told_of() -> dict[str, Any]:
    """Return what OpenAPI says of the requests that we send."""
    return {
        type: {
            "post": {
                "operationId": type,
                "summary": (kind.__doc__ or "").strip(),
                "tags": ["events"],
                "requestBody": {
                    "required": True,
                    "content": {MEDIA_TYPE: {"schema": {"$ref": REF + _event(kind)}}},
                },
                "responses": {"2XX": {"description": "Taken. Anything else is tried again."}},
            }
        }
        for type, kind in CATALOGUE.items()
    }


def live_operation(listing: dict[str, Any]) -> dict[str, Any]:
    """Return what OpenAPI says of the stream, whose parameters are those of the list."""
    words, _, more = (sse.__doc__ or "").partition("\n\n")
    shared = {"cluster", "type", "subject", "actor", "since", "until", "after"}
    return {
        "operationId": "follow_events",
        "summary": words.partition(":")[0],
        "description": more.strip(),
        "tags": ["events"],
        "parameters": [
            *(each for each in listing["parameters"] if each["name"] in shared),
            {
                "name": "Last-Event-ID",
                "in": "header",
                "required": False,
                "description": "The `id` of the last event a client has; before `after`.",
                "schema": {"type": "integer", "minimum": 0},
            },
        ],
        "responses": {
            "200": {
                "description": "Server-Sent Events, until one side ends it.",
                "content": {TYPE: {"schema": {"type": "string"}}},
            }
        },
    }


def asyncapi() -> dict[str, Any]:
    """Return the AsyncAPI document of the live stream."""
    messages = {
        type: {
            "name": type,
            "title": kind.__name__,
            "summary": (kind.__doc__ or "").strip(),
            "contentType": MEDIA_TYPE,
            "payload": {"$ref": REF + _event(kind)},
        }
        for type, kind in CATALOGUE.items()
    }
    names = {type: type.replace(".", "_") for type in CATALOGUE}
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Clusterra events",
            "version": __version__,
            "description": "What happens on a cluster, as it happens. Every event is a "
            "CloudEvents 1.0 document with a number; a client that was cut off goes on after "
            "the last it has.",
        },
        "defaultContentType": MEDIA_TYPE,
        "channels": {
            "events": {
                "address": sse.ROUTE.path,
                "title": f"Server-Sent Events ({TYPE})",
                "parameters": {"cluster": {"description": "Id of the cluster, as clus1a2b."}},
                "messages": {
                    names[type]: {"$ref": f"#/components/messages/{names[type]}"}
                    for type in CATALOGUE
                },
                "bindings": {"http": {}},
            }
        },
        "operations": {
            "followEvents": {
                "action": "send",
                "summary": "Send each event once, in the order of its number.",
                "channel": {"$ref": "#/channels/events"},
            }
        },
        "components": {
            "messages": {names[type]: message for type, message in messages.items()},
            "schemas": event_schemas(),
        },
    }


def bundle() -> dict[str, Any]:
    """Return the schemas of all `data` in one JSON Schema document."""
    return {
        "$schema": DIALECT,
        "$defs": {
            type: {"$id": schema_id(type)} | data_schema(kind, documented(kind))
            for type, kind in CATALOGUE.items()
        },
    }

"""A page of events: handed out as they are stored, byte for byte."""

from collections.abc import Sequence

import msgspec
from starlette.responses import Response

from clusterra.core.events.event import Event


def event_page(events: Sequence[Event], next: str | None) -> Response:
    parts = (
        b'{"events":[',
        b",".join(event.body for event in events),
        b'],"next":',
        msgspec.json.encode(next),
        b"}",
    )
    return Response(b"".join(parts), media_type="application/json")

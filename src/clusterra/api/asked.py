"""Which events a request asks for: parameters that the list and the stream share."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from fastapi import Query, Request

from clusterra.api import cursor
from clusterra.api.door import plane_of
from clusterra.core.errors import Invalid
from clusterra.core.events.event import EventQuery
from clusterra.core.events.interest import check_types
from clusterra.core.quote import shown
from clusterra.core.units import parse_duration

LARGEST = (1 << 63) - 1

After = Annotated[
    int | None,
    Query(ge=0, le=LARGEST, description="Only events with a higher sequence number."),
]


def filters(
    request: Request,
    types: Annotated[
        list[str] | None,
        Query(alias="type", description="A type, or a glob as `job.*`; may be given repeatedly."),
    ] = None,
    subject: Annotated[str, Query(description="As `job/41`, `node/w1`, `cluster`.")] = "",
    actor: Annotated[str, Query(description="As `user:ana` (or `ana`), `system:slurm`.")] = "",
    since: Annotated[
        str, Query(description="Happened from then on: RFC 3339, or an age as `2d`.")
    ] = "",
    until: Annotated[str, Query(description="Happened before: RFC 3339, or an age.")] = "",
) -> EventQuery:
    now = plane_of(request).clock.now()
    return wanted(now, types=types or (), subject=subject, actor=actor, since=since, until=until)


def wanted(
    now: datetime, *, types: Sequence[str], subject: str, actor: str, since: str, until: str
) -> EventQuery:
    check_types(types, at="type")
    return EventQuery(
        types=tuple(types),
        subject=subject,
        actor=f"user:{actor}" if actor and ":" not in actor else actor,
        since=moment(since, now, at="since"),
        until=moment(until, now, at="until"),
    )


def moment(text: str, now: datetime, *, at: str) -> datetime | None:
    """Read a moment, or an age as in the query language of jobs: `2d` is two days ago."""
    if not text:
        return None
    # A + that was not escaped arrives as a space: 2026-03-02T12:00:00 01:00
    for spelled in (text, "+".join(text.rsplit(" ", 1))):
        try:
            date = datetime.fromisoformat(spelled)
        except ValueError:
            continue
        return date if date.tzinfo else date.replace(tzinfo=UTC)
    try:
        return now - parse_duration(text, at=at)
    except (Invalid, OverflowError):
        raise Invalid(
            f"{shown(text)} is neither a moment nor an age.",
            hint="Write 2026-03-02T12:00:00Z, or an age such as 2h or 3d.",
            at=at,
        ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cursor:
    after: int


def write_cursor(after: int) -> str:
    return cursor.pack(_Cursor(after=after))


def read_cursor(text: str) -> int:
    after = cursor.unpack(text, _Cursor).after
    if not 0 <= after <= LARGEST:
        raise cursor.wrong("This cursor was not made here.")
    return after


def last_event_id(text: str) -> int | None:
    """Return the position a client that was cut off comes back with."""
    return _position(text, at="Last-Event-ID")


def read_after(text: str) -> int | None:
    return _position(text, at="after")


def _position(text: str, *, at: str) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdecimal()) or int(text) > LARGEST:
        raise Invalid(
            f"{shown(text)} is not the number of an event.",
            hint="Send back the `id` of the last event received, a whole number.",
            at=at,
        )
    return int(text)

"""Page cursors: opaque to clients, checked when they come back."""

import base64
import binascii

import msgspec

from clusterra.core.errors import Invalid
from clusterra.core.jobs.query import After, Query


def write(after: After, query: Query) -> str:
    packed = msgspec.json.encode((query.sort.value, query.descending, *after))
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def read(text: str, query: Query) -> After:
    """Return where the page starts; a cursor belongs to the order it was made in."""
    try:
        packed = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        sort, descending, value, id, born = msgspec.json.decode(
            packed, type=tuple[str, bool, str | int, int, int]
        )
    except (binascii.Error, ValueError, msgspec.DecodeError):
        raise _wrong("This cursor was not made here.") from None
    if (sort, descending) != (query.sort.value, query.descending):
        raise _wrong("This cursor belongs to another order of the jobs.")
    return value, id, born


def _wrong(detail: str) -> Invalid:
    return Invalid(detail, hint="Start again without a cursor.", at="cursor", code="bad-cursor")

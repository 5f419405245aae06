"""Page cursors: opaque to clients, checked when they come back."""

import base64
import binascii
from typing import TypeVar

import msgspec

from clusterra.core.errors import Invalid
from clusterra.core.jobs.query import After, Query

T = TypeVar("T")


def pack(place: object) -> str:
    """Return where somebody is, as text that goes into an address."""
    return base64.urlsafe_b64encode(msgspec.json.encode(place)).decode().rstrip("=")


def unpack(text: str, into: type[T]) -> T:
    """Return what was packed; raise Invalid if it was not, or not as this."""
    try:
        packed = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        return msgspec.json.decode(packed, type=into)
    except (binascii.Error, ValueError, msgspec.DecodeError):
        raise wrong("This cursor was not made here.") from None


def write(after: After, query: Query) -> str:
    return pack((query.sort.value, query.descending, *after))


def read(text: str, query: Query) -> After:
    """Return where the page starts; a cursor belongs to the order it was made in."""
    sort, descending, value, id, born = unpack(text, tuple[str, bool, str | int, int, int])
    if (sort, descending) != (query.sort.value, query.descending):
        raise wrong("This cursor belongs to another order of the jobs.")
    return value, id, born


def wrong(detail: str) -> Invalid:
    return Invalid(detail, hint="Start again without a cursor.", at="cursor", code="bad-cursor")

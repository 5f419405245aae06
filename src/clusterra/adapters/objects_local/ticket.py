"""Links that we sign: what may be done, to which key, until when.

All that counts stands in the link itself and under the signature, so that nothing has to be
remembered and nothing about it can be changed.
"""

import base64
import binascii
import hmac
from datetime import UTC, datetime

import msgspec

from clusterra.core.errors import Forbidden

GET, PUT, PART = "get", "put", "part"


class Ticket(msgspec.Struct, array_like=True, frozen=True, kw_only=True):
    what: str
    key: str
    until: int
    """Seconds since 1970."""

    size: int = 0
    sha256: str = ""
    content_type: str = ""
    versioned: bool = False
    version: str = ""
    upload: str = ""
    number: int = 0
    part_size: int = 0
    name: str = ""


def write(ticket: Ticket, key: bytes) -> str:
    said = msgspec.json.encode(ticket)
    return _text(said + hmac.digest(key, said, "sha256"))


def read(text: str, what: frozenset[str], key: bytes, now: datetime) -> Ticket:
    """Return what a link says; raise Forbidden if it is not ours, or not for this, or over."""
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        said, signature = raw[:-32], raw[-32:]
        genuine = hmac.compare_digest(hmac.digest(key, said, "sha256"), signature)
        # Base64 has several spellings of some bytes; only the one we wrote counts.
        ticket = msgspec.json.decode(said, type=Ticket) if genuine and _text(raw) == text else None
    except (binascii.Error, ValueError, msgspec.MsgspecError):
        ticket = None
    if ticket is None:
        raise _refused("This link was not made here, or has been changed.", "link-tampered")
    if ticket.what not in what:
        raise _refused("This link is for something else.", "link-other")
    if now.timestamp() >= ticket.until:
        ended = datetime.fromtimestamp(ticket.until, UTC)
        raise _refused(f"This link ended at {ended:%Y-%m-%d %H:%M:%S} UTC.", "link-expired")
    return ticket


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _refused(detail: str, code: str) -> Forbidden:
    return Forbidden(detail, hint="Ask for a new one: POST …/storage/presigned-url", code=code)

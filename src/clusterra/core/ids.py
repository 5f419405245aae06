"""Names we give to things.

Nothing here draws a random number: callers pass the bits in, so that a decision
made of ids stays repeatable.
"""

import hashlib
from datetime import datetime


def uuid7(at: datetime, entropy: bytes) -> str:
    """Return a UUIDv7 (RFC 9562) for the moment `at`: ids made later sort later."""
    millis = int(at.timestamp() * 1000) & ((1 << 48) - 1)
    number = (millis << 80) | (int.from_bytes(entropy[:10], "big") & ((1 << 80) - 1))
    return _spelled(number, version=7)


def cluster_id(entropy: bytes) -> str:
    """Return an id the public data plane takes: `clus` and four hex digits."""
    return f"clus{entropy[:2].hex()}"


def uuid8(*names: object) -> str:
    """Return the UUIDv8 (RFC 9562) of a fact: whoever sees the same fact makes the same id."""
    digest = hashlib.sha256("\n".join(map(str, names)).encode()).digest()
    return _spelled(int.from_bytes(digest[:16], "big"), version=8)


def _spelled(number: int, *, version: int) -> str:
    number = (number & ~(0xF << 76)) | (version << 76)
    number = (number & ~(0x3 << 62)) | (0x2 << 62)
    text = f"{number:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

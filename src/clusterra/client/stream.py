"""Server-Sent Events out of lines: only what our own server sends."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One thing a stream said."""

    seq: int | None
    """The position after it; None where it has none."""
    type: str
    """Empty where nothing happened: it only tells the position, or that the server is there."""
    data: bytes


def told(lines: Iterable[bytes]) -> Iterator[Told]:
    """Read a stream; what was cut off in the middle is left out, and comes again."""
    seq: int | None = None
    type, data = "", b""
    for line in lines:
        if not line:
            yield Told(seq=seq, type=type, data=data)
            seq, type, data = None, "", b""
            continue
        field, _, value = line.partition(b": ")
        if field == b"id":
            seq = int(value)
        elif field == b"event":
            type = value.decode()
        elif field == b"data":
            data = value

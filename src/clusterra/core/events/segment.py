"""A stretch of a ledger as text: what an export and a sealed segment are made of.

    {"format":"clusterra-ledger/1","cluster":…,"origin":…,"first":…,"last":…,"chain":…,"peaks":[…],"key":…}
    <64 hex digits: the chain up to and with this event> <the event's bytes>
    {"checkpoint":"<signed note>"}

`chain` and `peaks` are what the ledger hashed to before `first`, so that a stretch
from the middle can be verified by itself.
"""

import json
from dataclasses import dataclass

from clusterra.core.events.chain import SIZE, Head
from clusterra.core.events.checkpoint import Key, Unreadable, origin_of
from clusterra.core.events.event import Event

FORMAT = "clusterra-ledger/1"
DIGITS = 2 * SIZE
"""How many characters of a line are the chain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    cluster: str
    origin: str
    before: Head
    """What the ledger hashed to before the first event."""

    last: int
    key: str
    """Whose signatures count, spelled as in a signed note."""

    @property
    def first(self) -> int:
        return self.before.size + 1

    def line(self) -> bytes:
        said = {
            "format": FORMAT,
            "cluster": self.cluster,
            "origin": self.origin,
            "first": self.first,
            "last": self.last,
            "chain": self.before.chain.hex(),
            "peaks": [peak.hex() for peak in self.before.peaks],
            "key": self.key,
        }
        return json.dumps(said, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def header_of(cluster: str, *, before: Head, last: int, key: Key) -> Header:
    return Header(
        cluster=cluster, origin=origin_of(cluster), before=before, last=last, key=str(key)
    )


def event_line(event: Event) -> bytes:
    return b"%b %b\n" % (event.chain.hex().encode(), event.body)


def checkpoint_line(note: str) -> bytes:
    return json.dumps({"checkpoint": note}, ensure_ascii=False).encode() + b"\n"


def read_header(line: bytes) -> Header:
    try:
        said = json.loads(line)
        format = str(said["format"])
        first, last = int(said["first"]), int(said["last"])
        chain = bytes.fromhex(said["chain"])
        peaks = tuple(bytes.fromhex(peak) for peak in said["peaks"])
        names = [str(said[name]) for name in ("cluster", "origin", "key")]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Unreadable("Its first line does not say that it is part of a ledger.") from None
    if format != FORMAT:
        raise Unreadable(f"Its format is {format!r}; {FORMAT} can be verified here.")
    size = first - 1
    if size < 0 or len(peaks) != size.bit_count() or {len(chain), *map(len, peaks)} != {SIZE}:
        raise Unreadable(f"Its first line does not say what the ledger hashed to before {first}.")
    before = Head(size=size, chain=chain, peaks=peaks)
    cluster, origin, key = names
    return Header(cluster=cluster, origin=origin, before=before, last=last, key=key)


def read_checkpoint(line: bytes) -> str:
    try:
        note = json.loads(line)["checkpoint"]
    except (ValueError, KeyError, TypeError):
        raise Unreadable("A line is neither an event nor a checkpoint.") from None
    if not isinstance(note, str):
        raise Unreadable("A checkpoint is not text.")
    return note


def sequence_of(body: bytes) -> int | None:
    """Return the number an event says that it has; None if it says none."""
    try:
        return int(json.loads(body)["sequence"])
    except (ValueError, KeyError, TypeError):
        return None


def is_whole(text: bytes) -> bool:
    """Say whether JSON was written to its end; what is not may have been cut off."""
    try:
        json.loads(text)
    except ValueError:
        return False
    return True

"""Read a stretch of a ledger and note what its own hashes say against it.

Events are read once, in order; only the hash of each is kept. What was signed about
them is judged afterwards, in `verify`.
"""

from binascii import hexlify
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from hashlib import sha256

from clusterra.core.events.chain import leaf, link
from clusterra.core.events.checkpoint import Unreadable
from clusterra.core.events.segment import (
    DIGITS,
    Header,
    is_whole,
    read_checkpoint,
    read_header,
    sequence_of,
)


class Verdict(IntEnum):
    """The number is the exit code of `clusterra events verify`."""

    INTACT = 0
    TAMPERED = 1
    INCOMPLETE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    what: str
    """One word: altered, inserted, repeated, reordered, missing, cut-off, rewritten, …"""

    verdict: Verdict
    says: str
    first: int
    last: int
    """Which events it is about; for a checkpoint, its size."""


@dataclass(slots=True, kw_only=True)
class Reading:
    """A stretch of a ledger, as far as it has been read."""

    header: Header
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    leaves: list[bytes] = field(default_factory=list)
    """Hashes of the events from the first on, as long as each is there and in its place."""

    events: int = 0
    end: int = 0
    """The highest number among the events that were there."""

    whole: bool = True
    """Nothing was wrong so far, so that `leaves` may grow."""

    def note(self, what: str, first: int, last: int | None = None) -> None:
        """Note that something is wrong with an event; events in a row become one finding."""
        self.whole = False
        verdict, one, many = _SAYS[what]
        begin = first
        if last is None and self.findings:
            before = self.findings[-1]
            if before.what == what and before.last == first - 1:
                begin = before.first
                self.findings.pop()
        end = first if last is None else last
        says = one.format(begin) if begin == end else many.format(begin, end)
        self.findings.append(Finding(what=what, verdict=verdict, says=says, first=begin, last=end))


_SAYS = {
    "altered": (
        Verdict.TAMPERED,
        "Event {} is not what it was: its bytes do not give its hash.",
        "Events {} to {} are not what they were: their bytes do not give their hashes.",
    ),
    "inserted": (
        Verdict.TAMPERED,
        "Before event {} stands a line that is not of this ledger.",
        "Among events {} to {} stand lines that are not of this ledger.",
    ),
    "repeated": (
        Verdict.TAMPERED,
        "Event {} is there a second time.",
        "Events {} to {} are there a second time.",
    ),
    "reordered": (
        Verdict.TAMPERED,
        "Event {} is not in its place: it comes after a later one.",
        "Events {} to {} are not in their places: they come after later ones.",
    ),
    "beyond": (
        Verdict.TAMPERED,
        "Event {} comes after the last one that the first line names.",
        "Events {} to {} come after the last one that the first line names.",
    ),
    "missing": (
        Verdict.INCOMPLETE,
        "Event {} is missing.",
        "Events {} to {} are missing.",
    ),
    "cut-off": (
        Verdict.INCOMPLETE,
        "It breaks off before event {}, the last.",
        "It breaks off before events {} to {}.",
    ),
}


def read(lines: Iterable[bytes]) -> Reading:
    """Read a stretch and note what its own hashes say against it.

    Raises Unreadable if it is not one at all.
    """
    pairs = _with_next(lines)
    first, _ = next(pairs, (b"", None))
    if not first:
        raise Unreadable("There is nothing in it.")
    reading = Reading(header=read_header(first))
    _Events(reading).read(pairs)
    return reading


class _Events:
    """Goes through the events in order, knowing what number comes next."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._next = reading.header.first
        self._chain = reading.header.before.chain
        self._gaps: list[tuple[int, int]] = []

    def read(self, pairs: Iterable[tuple[bytes, bytes | None]]) -> None:
        reading, leaves = self._reading, self._reading.leaves
        for line, after in pairs:
            if line[0:1] == b"{":
                self._checkpoint(line, after)
                continue
            # `leaf` and `link`, written out: calls are a quarter of the cost.
            number, body = self._next, line[DIGITS + 1 :]
            node = sha256(b"\x00" + body).digest()
            chain = sha256(b"evt1" + self._chain + number.to_bytes(8, "big") + node).digest()
            if line.startswith(hexlify(chain) + b" "):
                self._chain = chain
                self._next = number + 1
                reading.events += 1
                if reading.whole:
                    leaves.append(node)
            else:
                self._irregular(line[:DIGITS], body, after)
        self._finish()

    def _irregular(self, said: bytes, body: bytes, after: bytes | None) -> None:
        """Say what a line is that does not follow from the one before."""
        reading, number = self._reading, self._next
        claimed = sequence_of(body)
        if after is None and number <= reading.header.last and not is_whole(body):
            return  # the end of a file that was cut off within a line
        reading.events += 1
        if number > reading.header.last or (
            claimed in {None, number} and _follows(after, self._chain, number)
        ):
            reading.note("inserted", number)
        elif (
            claimed is None
            or claimed == number
            or claimed > reading.header.last
            or _follows(after, _chain(said), number + 1)
        ):
            reading.note("altered", number)
            # If only what it says of its hash was altered, the next one follows from the true one.
            true = link(self._chain, number, leaf(body))
            self._go_on(number, true if _follows(after, true, number + 1) else _chain(said))
        elif claimed > number:
            self._gaps.append((number, claimed - 1))
            reading.whole = False
            self._go_on(claimed, _chain(said))
        else:
            reading.note("reordered" if self._was_missed(claimed) else "repeated", claimed)

    def _go_on(self, number: int, chain: bytes) -> None:
        self._chain = chain
        self._next = number + 1

    def _was_missed(self, number: int) -> bool:
        for place, (first, last) in enumerate(self._gaps):
            if first <= number <= last:
                parts = [(first, number - 1), (number + 1, last)]
                self._gaps[place : place + 1] = [part for part in parts if part[0] <= part[1]]
                return True
        return False

    def _checkpoint(self, line: bytes, after: bytes | None) -> None:
        try:
            self._reading.notes.append(read_checkpoint(line))
        except Unreadable as error:
            verdict, says = Verdict.TAMPERED, str(error)
            if after is None and not is_whole(line):
                verdict, says = Verdict.INCOMPLETE, "It breaks off within a checkpoint."
            self._reading.findings.append(
                Finding(what="unreadable", verdict=verdict, says=says, first=0, last=0)
            )

    def _finish(self) -> None:
        reading = self._reading
        reading.end = self._next - 1
        for first, last in self._gaps:
            reading.note("missing", first, last)
        if reading.end > reading.header.last:
            reading.note("beyond", reading.header.last + 1, reading.end)
        if self._next <= reading.header.last:
            # Checkpoints come last: where there are some, the file was not merely cut off.
            what = "missing" if reading.notes else "cut-off"
            reading.note(what, self._next, reading.header.last)


def _chain(said: bytes) -> bytes:
    try:
        return bytes.fromhex(said.decode("ascii"))
    except ValueError:
        return b""


def _follows(line: bytes | None, chain: bytes, number: int) -> bool:
    """Say whether a line is event `number` after this chain."""
    if line is None or line.startswith(b"{"):
        return False
    return link(chain, number, leaf(line[DIGITS + 1 :])) == _chain(line[:DIGITS])


def _with_next(lines: Iterable[bytes]) -> Iterator[tuple[bytes, bytes | None]]:
    before: bytes | None = None
    for line in lines:
        if before is not None:
            yield before, line
        before = line
    if before is not None:
        yield before, None

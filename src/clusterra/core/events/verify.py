"""Say whether a stretch of a ledger is what was signed, and if not, where and what.

    intact       every event is there, hashes to what it did, and is covered by a signature
    tampered     what is shown contradicts its hashes or a signature
    incomplete   what is shown is right, and something that must exist is not shown

Whoever verifies does better with a memory: the key this ledger is known by and the
newest checkpoint seen before. Without one, a ledger that was made anew from its first
event, with a new key, cannot be told from an honest one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from clusterra.core.events.chain import roots
from clusterra.core.events.checkpoint import (
    Check,
    Checkpoint,
    Key,
    Note,
    Unreadable,
    origin_of,
    read_key,
    read_note,
)
from clusterra.core.events.ed25519 import is_signed
from clusterra.core.events.reading import Finding, Reading, Verdict, read


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What a verifier knows of a ledger from before."""

    key: Key | None = None
    checkpoint: str = ""
    """The newest signed checkpoint it has seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    cluster: str
    first: int
    last: int
    events: int
    key: str
    newest: Note | None
    """The newest checkpoint that is signed by the ledger's key and that the events agree with."""

    findings: Sequence[Finding]

    @property
    def verdict(self) -> Verdict:
        found = {finding.verdict for finding in self.findings}
        if Verdict.TAMPERED in found:
            return Verdict.TAMPERED
        return Verdict.INCOMPLETE if found else Verdict.INTACT


def verify(
    lines: Iterable[bytes], *, memory: Memory | None = None, check: Check = is_signed
) -> Report:
    """Verify an export or a segment. Raises Unreadable if it is neither."""
    return judge(read(lines), memory=memory or Memory(), check=check)


def judge(reading: Reading, *, memory: Memory, check: Check = is_signed) -> Report:
    """Hold what was read to what was signed, and to what is remembered."""
    judging = _Judging(reading=reading, memory=memory, check=check)
    judging.judge()
    newest = max(judging.agreed, key=lambda note: note.checkpoint.size, default=None)
    return Report(
        cluster=reading.header.cluster,
        first=reading.header.first,
        last=reading.end,
        events=reading.events,
        key=reading.header.key,
        newest=newest,
        findings=reading.findings,
    )


@dataclass(slots=True, kw_only=True)
class _Judging:
    """Holds what was read to what was signed."""

    reading: Reading
    memory: Memory
    check: Check
    agreed: list[Note] = field(default_factory=list)

    def judge(self) -> None:
        key = self._key()
        shown = self._signed(self.reading.notes, key)
        remembered = self._signed([self.memory.checkpoint] * bool(self.memory.checkpoint), key)
        self._look_for_two_histories([*shown, *remembered])
        self._compare([*shown, *remembered])
        self._look_for_dropped(shown, remembered)
        self._look_for_unsigned()

    def _key(self) -> Key | None:
        header = self.reading.header
        try:
            key = read_key(header.key)
        except Unreadable as error:
            self._find("unknown-key", Verdict.TAMPERED, f"The key it names cannot be read: {error}")
            return self.memory.key
        known = self.memory.key or key
        if key != known:
            self._find(
                "unknown-key",
                Verdict.TAMPERED,
                f"It names the key {key}; this ledger is known by {known}.",
            )
        if header.origin != origin_of(header.cluster):
            self._find(
                "altered",
                Verdict.TAMPERED,
                f"It says that {header.origin} is the name of the ledger of {header.cluster}.",
            )
        return known

    def _signed(self, notes: Sequence[str], key: Key | None) -> list[Note]:
        """Return the checkpoints of this ledger that its key has signed."""
        good: list[Note] = []
        wrong: dict[str, list[int]] = {}
        for text in notes:
            try:
                note = read_note(text)
            except ValueError as error:
                self._find("unreadable", Verdict.TAMPERED, f"A checkpoint cannot be read: {error}")
                continue
            what = self._wrong_with(note, key)
            if what:
                wrong.setdefault(what, []).append(note.checkpoint.size)
            else:
                good.append(note)
        for what, sizes in wrong.items():
            more = f" (and {len(sizes) - 1} more)" if len(sizes) > 1 else ""
            says = f"The checkpoint of {sizes[0]} events{more} {_WRONG[what]}"
            self._find(what, Verdict.TAMPERED, says, sizes[0])
        return good

    def _wrong_with(self, note: Note, key: Key | None) -> str:
        if note.checkpoint.origin != self.reading.header.origin:
            return "foreign"
        if key is None or not note.names(key):
            return "unknown-key"
        return "" if note.is_by(key, self.check) else "bad-signature"

    def _look_for_two_histories(self, notes: Sequence[Note]) -> None:
        by_size: dict[int, Note] = {}
        for note in notes:
            size = note.checkpoint.size
            other = by_size.setdefault(size, note)
            if other.checkpoint.root != note.checkpoint.root:
                self._find(
                    "two-histories",
                    Verdict.TAMPERED,
                    f"Two histories of {size} events were signed: one {other.checkpoint.when}, the"
                    f" other {note.checkpoint.when}.",
                    size,
                )

    def _compare(self, notes: Sequence[Note]) -> None:
        """Compare the roots, as far as the events are there without a gap."""
        reading = self.reading
        before = reading.header.before
        sizes = {note.checkpoint.size for note in notes}
        real = roots(before, reading.leaves, sizes)
        right_up_to = before.size
        wrong: Checkpoint | None = None
        for note in sorted(notes, key=lambda note: note.checkpoint.size):
            checkpoint = note.checkpoint
            if checkpoint.size in real and real[checkpoint.size] == checkpoint.root:
                self.agreed.append(note)
                right_up_to = checkpoint.size if wrong is None else right_up_to
            elif checkpoint.size in real and wrong is None:
                wrong = checkpoint
        if wrong:
            self._find(
                "rewritten",
                Verdict.TAMPERED,
                f"Something among events {right_up_to + 1} to {wrong.size} was rewritten, with"
                f" hashes made anew: the checkpoint of {wrong.size} events signed {wrong.when}"
                " has another root.",
                right_up_to + 1,
                wrong.size,
            )
        self._look_for_truncation(notes)

    def _look_for_truncation(self, notes: Sequence[Note]) -> None:
        reading = self.reading
        newest = max((note.checkpoint for note in notes), key=lambda each: each.size, default=None)
        if newest is None or newest.size <= max(reading.end, reading.header.last):
            return
        self._find(
            "truncated",
            Verdict.INCOMPLETE,
            f"A checkpoint signed {newest.when} covers {newest.size} events; the last one here is"
            f" {reading.end}.",
            reading.end + 1,
            newest.size,
        )

    def _look_for_dropped(self, shown: Sequence[Note], remembered: Sequence[Note]) -> None:
        reading = self.reading
        for note in remembered:
            checkpoint = note.checkpoint
            listed = any(each.checkpoint.size == checkpoint.size for each in shown)
            if not listed and reading.header.before.size <= checkpoint.size <= reading.end:
                self._find(
                    "checkpoint-dropped",
                    Verdict.INCOMPLETE,
                    f"The checkpoint of {checkpoint.size} events signed {checkpoint.when}, which was"
                    " seen before, is not among those shown.",
                    checkpoint.size,
                )

    def _look_for_unsigned(self) -> None:
        """Say which events no signature covers, unless worse is known of them."""
        reading = self.reading
        if reading.findings or reading.end < reading.header.first:
            return
        covered = max((note.checkpoint.size for note in self.agreed), default=0)
        if covered < reading.end:
            first = max(covered + 1, reading.header.first)
            self._find(
                "unsigned",
                Verdict.INCOMPLETE,
                f"No checkpoint shown covers events {first} to {reading.end}.",
                first,
                reading.end,
            )

    def _find(
        self, what: str, verdict: Verdict, says: str, first: int = 0, last: int | None = None
    ) -> None:
        self.reading.findings.append(
            Finding(
                what=what,
                verdict=verdict,
                says=says,
                first=first,
                last=first if last is None else last,
            )
        )


_WRONG = {
    "foreign": "is of another ledger.",
    "unknown-key": "is signed by another key than this ledger is known by.",
    "bad-signature": "does not have the signature of its key.",
}

"""Find lines with some text in bytes that come piece by piece.

Nothing but the end of what was fed before is kept, so a file may be of any size and a
line of any length. A line is told of once, with what stands around the first place in
it. Text is compared byte by byte; whoever ignores case ignores that of ASCII letters.
"""

from collections.abc import Iterator
from dataclasses import dataclass

AROUND = 200
"""Bytes of a line that are shown on either side of the place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    line: int
    """Its number; the first is 1."""

    offset: int
    """The byte at which the line begins."""

    at: int
    """The byte at which the text begins."""

    text: bytes
    """The line, or what of it stands around the text."""

    cut: bool
    """The line is longer than that."""


class Search:
    def __init__(self, text: bytes, *, ignore_case: bool = False) -> None:
        self._text = text.lower() if ignore_case else text
        self._ignore_case = ignore_case
        self._kept = b""
        self._base = 0
        """Where in the file what is kept begins."""
        self._looked = 0
        """Up to where in the file there is nothing more to find."""
        self._line = 1
        self._line_at = 0
        """The line at the place up to which line ends were counted, and where it begins."""
        self._counted = 0
        self._told = False
        """The rest of this line does not matter."""

    def feed(self, piece: bytes, *, last: bool = False) -> Iterator[Match]:
        """Yield the lines that are certain now; with the `last` piece, all that are left."""
        data = self._kept + piece
        sought = data.lower() if self._ignore_case else data
        while (found := self._next(data, sought)) is not None:
            match = self._match(data, found, last=last)
            if match is None:
                break
            yield match
        self._keep(data)

    def _next(self, data: bytes, sought: bytes) -> int | None:
        start = self._looked - self._base
        if self._told:
            end = data.find(b"\n", start)
            if end < 0:
                self._looked = self._base + len(data)
                return None
            start, self._told = end + 1, False
            self._looked = self._base + start
        found = sought.find(self._text, start)
        if found < 0:
            # Its beginning may be at the end.
            self._looked = max(self._looked, self._base + len(data) - len(self._text) + 1)
            return None
        return found

    def _match(self, data: bytes, found: int, *, last: bool) -> Match | None:
        """Return the line at `found`, or None if more has to be fed to show enough of it."""
        self._count(data, found)
        most = found + len(self._text) + AROUND
        end = data.find(b"\n", found, most)
        if end < 0 and len(data) < most and not last:
            self._looked = self._base + found
            return None
        start = max(self._line_at - self._base, found - AROUND, 0)
        stop = end if end >= 0 else min(most, len(data))
        self._looked, self._told = self._base + found + 1, True
        return Match(
            line=self._line,
            offset=self._line_at,
            at=self._base + found,
            text=data[start:stop],
            cut=self._base + start > self._line_at or (end < 0 and most < len(data)),
        )

    def _count(self, data: bytes, until: int) -> None:
        start = self._counted - self._base
        if lines := data.count(b"\n", start, until):
            self._line += lines
            self._line_at = self._base + data.rfind(b"\n", start, until) + 1
        self._counted = self._base + until

    def _keep(self, data: bytes) -> None:
        """Forget all but what a match that is found later may show."""
        drop = min(self._looked - AROUND, self._base + len(data)) - self._base
        if drop <= 0:
            self._kept = data
            return
        if self._counted < self._base + drop:
            self._count(data, drop)
        self._kept = data[drop:]
        self._base += drop

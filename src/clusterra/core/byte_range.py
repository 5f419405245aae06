"""Which bytes of a file somebody asks for: one range of RFC 9110, 14."""

import re
from dataclasses import dataclass

_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")


@dataclass(frozen=True, slots=True, kw_only=True)
class ByteRange:
    first: int | None
    last: int | None
    """Both from the beginning, the last one included; without `first`, so many from the end."""

    def within(self, size: int) -> tuple[int, int] | None:
        """Return where it begins and stops in a file of that size; None if it has nothing of it."""
        if self.first is None:
            start, stop = max(size - (self.last or 0), 0), size
        else:
            start, stop = self.first, size if self.last is None else min(self.last + 1, size)
        return (start, stop) if start < stop else None


def byte_range(header: str) -> ByteRange | None:
    """Read a `Range` header; None for what may be ignored: no range, several, or other units."""
    found = _RANGE.fullmatch(header.strip())
    if found is None or found[1] == found[2] == "":
        return None
    first = int(found[1]) if found[1] else None
    last = int(found[2]) if found[2] else None
    if first is not None and last is not None and last < first:
        return None
    return ByteRange(first=first, last=last)

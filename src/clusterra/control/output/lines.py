"""Where the last lines of a file begin."""

from clusterra.ports import Log

PIECE = 64 << 10
FARTHEST = 64 << 20
"""Bytes from the end within which line ends are looked for: an endless line has none."""


async def start_of_lines(log: Log, size: int, lines: int) -> int:
    """Return the byte at which the last `lines` lines of the first `size` bytes begin."""
    at, wanted = size, lines
    while at > max(size - FARTHEST, 0):
        start = max(at - PIECE, 0)
        data = (await log.read(start, at - start)).data
        if at == size and data.endswith(b"\n"):
            wanted += 1  # the end of the last line begins no other
        found = data.count(b"\n")
        if found >= wanted:
            return start + _end_of(data, found - wanted) + 1
        wanted -= found
        at = start
    return at


def _end_of(data: bytes, number: int) -> int:
    """Return where the line end is that has so many before it."""
    place = -1
    for _ in range(number + 1):
        place = data.index(b"\n", place + 1)
    return place

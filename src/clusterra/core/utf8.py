"""Where characters begin and end in bytes that are probably text."""

CONTINUING = bytes(range(0x80, 0xC0))
"""What every byte of a character is but its first."""


def begun(data: bytes) -> int:
    """Return how many bytes at the end are the beginning of a character."""
    for back in range(1, min(len(data), 3) + 1):
        byte = data[-back]
        if byte >= 0xC0:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return back if back < length else 0
        if byte < 0x80:
            return 0
    return 0


def rest(data: bytes) -> int:
    """Return how many bytes at the front are the rest of a character."""
    first = data[:3]
    return len(first) - len(first.lstrip(CONTINUING))

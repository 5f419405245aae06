"""What a spool gives up when it has grown too large.

The server has been away for very long, or the disk is small. That a job ended, and
how, is worth most, so the oldest of the others go first. What goes is counted, and
said in a `collector.gap`; those are never given up.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clusterra.agent.note import Note

BLOCK = 4096
"""What a file takes on most disks, however small it is."""

ROOM = 0.9
"""How much of the quota is used after something was given up, so that it is not one at a time."""

NEARLY = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    bytes: int = 256 << 20
    files: int = 50_000


def given_up(notes: Sequence[Note], quota: Quota) -> list[Note]:
    """Return what has to go for the rest to fit, given notes oldest first."""
    if _fits(_size(notes), len(notes), quota, share=1):
        return []
    gone: list[Note] = []
    size, files = _size(notes), len(notes)
    for note in _by_worth(notes):
        if _fits(size, files, quota, share=ROOM):
            break
        gone.append(note)
        size, files = size - _blocks(note), files - 1
    return gone


def is_full(notes: Sequence[Note], quota: Quota) -> bool:
    """Say whether anything more would cost the end of a job that is kept already."""
    return not _fits(_size(notes), len(notes), quota, share=NEARLY) and all(
        note.tells_of_an_end or note.is_gap for note in notes
    )


def _by_worth(notes: Sequence[Note]) -> Iterator[Note]:
    yield from (note for note in notes if not note.tells_of_an_end and not note.is_gap)
    yield from (note for note in notes if note.tells_of_an_end)


def _fits(size: int, files: int, quota: Quota, *, share: float) -> bool:
    return size <= quota.bytes * share and files <= quota.files * share


def _size(notes: Sequence[Note]) -> int:
    return sum(map(_blocks, notes))


def _blocks(note: Note) -> int:
    return -(-max(note.size, 1) // BLOCK) * BLOCK

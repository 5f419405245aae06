"""Put old events away: into the archive first, out of the database second.

A segment ends where a checkpoint was signed, so that it can be verified by itself.
The file is there before the rows go, and a segment that begins with the same event
takes its place, so that a death at any moment leaves either the rows or both, and
the next round completes it.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from clusterra.control.export import pages
from clusterra.core.change import Change, Kind
from clusterra.core.errors import Refused
from clusterra.core.events.chain import Growing, Head
from clusterra.core.events.checkpoint import Checkpoint, Key, read_note
from clusterra.core.events.segment import checkpoint_line, event_line, header_of
from clusterra.ports import Archive, Clock, Store

DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A part of the ledger that is in the archive and no longer in the database."""

    first: int
    last: int
    root: str
    sealed_at: datetime


SEGMENT: Kind[Segment] = Kind("segment", Segment)
"""By cluster and first event."""


def segment_id(cluster: str, first: int) -> str:
    return f"{cluster}/{first:020d}"


async def seal(
    cluster: str,
    *,
    keep: timedelta,
    most: int,
    key: Key,
    store: Store,
    archive: Archive,
    clock: Clock,
) -> bool:
    """Seal one segment, if one is due; say whether another may be."""
    cut = await store.cut(cluster)
    due = await _due(cluster, cut, most=most, keep=keep, archive=archive, now=clock.now())
    if due is None:
        return False
    checkpoint = read_note(due).checkpoint
    growing = Growing(cut)
    header = header_of(cluster, before=cut, last=checkpoint.size, key=key).line()

    async def lines() -> AsyncIterator[bytes]:
        yield header
        async for page in pages(cluster, cut.size, checkpoint.size, store):
            for event in page:
                growing.add(event.body)
            yield b"".join(map(event_line, page))
        _check(cluster, growing.head(), checkpoint)
        yield checkpoint_line(due)

    await archive.keep(cluster, cut.size + 1, lines())
    record = await store.get(
        SEGMENT,
        segment_id(cluster, cut.size + 1),
        default=Segment(
            first=cut.size + 1,
            last=checkpoint.size,
            root=checkpoint.root.hex(),
            sealed_at=clock.now(),
        ),
    )
    await store.seal(cluster, growing.head(), Change(puts=[record]))
    return True


async def _due(
    cluster: str, cut: Head, *, most: int, keep: timedelta, archive: Archive, now: datetime
) -> str | None:
    """Return the checkpoint that ends the next segment; None if it is not time yet.

    A checkpoint is younger than the events it covers, so what it covers is old enough
    when it is. A segment is sealed when it is full, or holds what is old for a day.
    """
    end: str | None = None
    overdue = False
    async for note in archive.checkpoints(cluster):
        checkpoint = read_note(note).checkpoint
        if checkpoint.size <= cut.size:
            continue
        if checkpoint.at is None or checkpoint.at > now - keep:
            break
        if end is not None and checkpoint.size > cut.size + most:
            return end
        end = note
        overdue = overdue or checkpoint.at <= now - keep - DAY
        if checkpoint.size >= cut.size + most:
            return end
    return end if overdue else None


def _check(cluster: str, head: Head, checkpoint: Checkpoint) -> None:
    """Seal nothing that is not what was signed."""
    if (head.size, head.root) != (checkpoint.size, checkpoint.root):
        raise Refused(
            f"The events of {cluster} up to {checkpoint.size} are not what was signed"
            f" {checkpoint.when}; they are not sealed.",
            hint="What is wrong with them says: clusterra events verify",
            code="ledger-broken",
        )

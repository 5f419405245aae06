"""A part of the ledger as lines that anybody can verify: for a person, and for the archive.

{"format":"clusterra-ledger/1", …}           what it is, and what it hashes to before
<64 hex digits of the chain> <event>         one line each, the bytes that were hashed
{"checkpoint":"<signed note>"}               what was signed about it
"""

from collections.abc import AsyncIterator, Sequence

from clusterra.core.errors import Invalid
from clusterra.core.events.chain import Growing, Head
from clusterra.core.events.checkpoint import Key, read_note
from clusterra.core.events.event import Event, EventQuery
from clusterra.core.events.segment import Header, checkpoint_line, event_line, header_of
from clusterra.ports import Archive, Store

PAGE = 500


async def export(
    cluster: str,
    *,
    after: int = 0,
    until: int | None = None,
    signed: int = 0,
    key: Key,
    store: Store,
    archive: Archive,
) -> AsyncIterator[bytes]:
    """Return the events after one and up to another, with the checkpoints that cover them.

    Left out, the last one is the last that is signed. What is wrong with the question is
    raised at once, not in the middle of the answer.
    """
    cut, head = await store.cut(cluster), await store.head(cluster)
    start = after or cut.size
    last = until if until is not None else signed or head.size
    if not cut.size <= start <= last <= head.size:
        raise Invalid(
            f"Events {start + 1} to {last} are not all here: {cut.size + 1} to {head.size} are.",
            hint="Older ones are in the archive's segments.",
            code="events-not-here",
        )
    before = await _head_at(cluster, start, cut, store)
    header = header_of(cluster, before=before, last=last, key=key)
    # Of the whole ledger, also those beyond its end: they are what shows that it was cut short.
    return _lines(header, until, store, archive)


async def _lines(
    header: Header, newest: int | None, store: Store, archive: Archive
) -> AsyncIterator[bytes]:
    yield header.line()
    async for page in pages(header.cluster, header.before.size, header.last, store):
        yield b"".join(map(event_line, page))
    async for note in archive.checkpoints(header.cluster):
        if _is_within(note, header.before.size, newest):
            yield checkpoint_line(note)


def _is_within(note: str, first: int, last: int | None) -> bool:
    try:
        size = read_note(note).checkpoint.size
    except ValueError:
        return True  # whoever verifies will say that it cannot be read
    return size >= first and (last is None or size <= last)


async def pages(
    cluster: str, after: int, last: int, store: Store
) -> AsyncIterator[Sequence[Event]]:
    """Stream the events after one and up to another, some at a time."""
    while after < last:
        limit = min(PAGE, last - after)
        found = await store.events(cluster, EventQuery(after=after, limit=limit))
        page = [event for event in found if event.seq <= last]
        if not page:
            return
        yield page
        after = page[-1].seq


async def _head_at(cluster: str, size: int, cut: Head, store: Store) -> Head:
    growing = Growing(cut)
    async for page in pages(cluster, cut.size, size, store):
        for event in page:
            growing.add(event.body)
    return growing.head()

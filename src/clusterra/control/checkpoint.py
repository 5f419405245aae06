"""Sign how far a ledger reaches, and hold the database to what was signed.

The checkpoint is a record first and in the archive second: a death in between leaves
a database that is ahead of the archive, which the next round mends; the other order
would leave one that looks as if it had been put back from an older copy.
"""

import asyncio
from dataclasses import dataclass, field, replace

import structlog

from clusterra.core.change import Change, Kind, Record
from clusterra.core.errors import ClusterraError, Refused
from clusterra.core.events.chain import Head
from clusterra.core.events.checkpoint import (
    Checkpoint,
    Key,
    Unreadable,
    origin_of,
    read_note,
    write_note,
)
from clusterra.ports import Archive, Clock, Signer, Store

log = structlog.get_logger()

NEWEST: Kind[str] = Kind("checkpoint", str)
"""The last checkpoint of each cluster, signed. All of them are in the archive."""

CODE = "ledger-behind-checkpoint"


@dataclass(slots=True, kw_only=True)
class Checkpointer:
    cluster: str
    store: Store
    archive: Archive
    signer: Signer
    clock: Clock

    signed: int = 0
    """How far the last checkpoint reached."""

    why_held: str = ""
    """Why this ledger takes nothing more; empty if it does."""

    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def key(self) -> Key:
        return Key(name=origin_of(self.cluster), public=self.signer.public)

    async def open(self) -> None:
        """Compare the database with the last checkpoint outside it; if it is behind, stop there.

        It can still be read. Adding to it would make a second history beside the one that
        was signed, and whoever holds a copy of the first would be right to distrust both.
        """
        outside = await self.archive.newest(self.cluster)
        if outside is None:
            return
        record = await self.store.get(NEWEST, self.cluster, default="")
        found = _behind(outside, record.value, await self.store.head(self.cluster))
        if found:
            self.why_held = found
            self.store.hold(
                self.cluster,
                Refused(
                    found,
                    hint="The database was put back from an older copy, or changed. Put the newest"
                    " copy back. If its events are lost for good, move the cluster's directory in"
                    " the archive away: the ledger goes on from here, and whoever verifies it will"
                    " be told of the break.",
                    code=CODE,
                ),
            )

    async def sign_if_possible(self) -> None:
        """Sign at the end of a life; what it could not, the next one signs."""
        try:
            await self.sign()
        except ClusterraError as error:
            log.warning("ledger.not_signed", cluster=self.cluster, why=error.detail)

    async def sign(self) -> bool:
        """Sign the head if it has moved, and say whether it had."""
        if self.why_held:
            return False
        async with self._one_at_a_time:
            record = await self.store.get(NEWEST, self.cluster, default="")
            self.signed = read_note(record.value).checkpoint.size if record.value else 0
            head = await self.store.head(self.cluster)
            moved = head.size > self.signed
            if moved:
                record = await self._put(record, head)
                self.signed = head.size
            if record.value and await self.archive.newest(self.cluster) != record.value:
                await self.archive.add(self.cluster, record.value)
            return moved

    async def _put(self, record: Record[str], head: Head) -> Record[str]:
        checkpoint = Checkpoint(
            origin=origin_of(self.cluster), size=head.size, root=head.root, at=self.clock.now()
        )
        signed = replace(record, value=write_note(checkpoint, self.key, self.signer.sign))
        await self.store.commit(self.cluster, Change(puts=[signed]))
        return signed


def _behind(outside: str, inside: str, head: Head) -> str:
    """Say what is wrong with a database beside the last checkpoint outside it; empty if nothing."""
    try:
        archived = read_note(outside).checkpoint
        known = read_note(inside).checkpoint.size if inside else 0
    except Unreadable as error:
        return f"The last checkpoint of the ledger cannot be read: {error}"
    signed = f"The last checkpoint outside the database, signed {archived.when},"
    if head.size < archived.size:
        return f"{signed} covers {archived.size} events; the database holds {head.size}."
    if head.size == archived.size and head.root != archived.root:
        return f"{signed} covers {archived.size} events; the database holds as many, but others."
    if known < archived.size:
        return f"{signed} covers {archived.size} events; the database knows of one of {known}."
    if known == archived.size and inside != outside:
        return f"{signed} covers {archived.size} events; the database knows another of that size."
    return ""

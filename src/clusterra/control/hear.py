"""Take in what hooks say, so that it is on disk before the answer.

Facts about nodes, the cluster and the collector go straight into the ledger. What
is said of a job is kept in an inbox, and the observer is asked to look at that job
now: hooks give latency, observation gives truth. The observer reads the inbox with
`pending` and drops the records in the commit that tells what came of them, so a
process that dies in between looks again.

The same words are kept once, however often and however simultaneously they arrive.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from clusterra.control.site import Site
from clusterra.core.change import Change, Kind, Record
from clusterra.core.errors import Busy, Conflict
from clusterra.core.events.event import Draft
from clusterra.core.events.heard import Heard
from clusterra.ports import Clock, Store

HEARD: Kind[Heard] = Kind("heard", Heard)

MOST = 10_000
"""Job facts that may wait to be looked into. Whoever has more keeps them in a spool."""

RECENT = 10_000
"""Facts that are remembered to have been written, to tell who sends them again."""

COUNTED_EVERY = timedelta(seconds=1)
"""How often a full inbox is counted again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    accepted: int
    duplicates: int
    """Of the accepted: those that were there already."""


@dataclass(slots=True, eq=False)
class _Batch:
    """Items that are written together: whatever arrives while the last ones are being written."""

    items: dict[str, Heard | Draft] = field(default_factory=dict)
    waiting: "list[asyncio.Future[None]]" = field(default_factory=list)
    is_over: bool = False
    error: Exception | None = None

    async def written(self) -> None:
        """Wait until they are on disk. Whoever stops waiting takes nobody along."""
        if self.is_over:
            # While somebody waited for another batch, this one was written too.
            if self.error is not None:
                raise self.error
            return
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.waiting.append(mine)
        await mine

    def tell(self, error: Exception | None) -> None:
        self.is_over, self.error = True, error
        for each in self.waiting:
            if each.done():
                continue
            if error is None:
                each.set_result(None)
            else:
                each.set_exception(error)


@dataclass(slots=True, kw_only=True)
class Inbox:
    """What was said of one cluster's jobs and has not been looked into."""

    site: Site
    store: Store
    clock: Clock
    most: int = MOST
    _waiting: set[str] | None = field(default=None)
    """Ids in the inbox; None until it has been read. The store knows better: see `pending`."""
    _under_way: dict[str, _Batch] = field(default_factory=dict)
    """Ids on their way to the disk."""
    _next: _Batch | None = field(default=None)
    """What has arrived and is written next."""
    _writer: "asyncio.Task[None] | None" = field(default=None)
    _recent: dict[str, None] = field(default_factory=dict)
    """Ids of facts that were written, oldest first."""
    _counted_at: datetime | None = field(default=None)

    async def pending(self) -> Sequence[Record[Heard]]:
        """Return everything in the inbox, to be dropped by whoever has looked into it."""
        known = set(self._waiting or ())
        records = await self.store.list(HEARD, prefix=f"{self.site.cluster.id}/")
        there = {record.value.id for record in records}
        # What was written while the list was being read is not in it, and has not gone.
        self._waiting = (self._waiting or set()) - (known - there) | there
        return records

    async def hear(self, items: Sequence[Heard | Draft]) -> Receipt:
        """Keep what was said. When this returns, it survives the machine.

        Raises Busy, and keeps nothing, while too much waits to be looked into.
        """
        if self._waiting is None:
            await self.pending()
        if not self._fits(len(items)):
            await self._make_room(sum(isinstance(item, Heard) for item in items))
        fresh = {item.id: item for item in items if self._is_new(item.id)}
        if fresh:
            self._bring(fresh)
        for batch in {self._under_way[item.id] for item in items if item.id in self._under_way}:
            await batch.written()
        return Receipt(accepted=len(items), duplicates=len(items) - len(fresh))

    def _is_new(self, id: str) -> bool:
        assert self._waiting is not None
        return id not in self._waiting and id not in self._under_way and id not in self._recent

    def _bring(self, items: dict[str, Heard | Draft]) -> None:
        self._next = self._next or _Batch()
        self._next.items.update(items)
        self._under_way.update(dict.fromkeys(items, self._next))
        if self._writer is None:
            self._writer = asyncio.create_task(self._write())

    async def _write(self) -> None:
        """Write what has arrived, and what arrives meanwhile, until there is nothing more."""
        try:
            while self._next is not None:
                # One turn of the loop: whoever has arrived together with the first is read too,
                # and shares its sync to disk instead of waiting for it.
                await asyncio.sleep(0)
                batch, self._next = self._next, None
                await self._write_batch(batch)
        finally:
            self._writer = None

    async def _write_batch(self, batch: _Batch) -> None:
        failed: Exception | None = None
        try:
            await self._commit(batch.items.values())
        except Exception as error:  # noqa: BLE001 - whoever brought them is told
            failed = error
        for id in batch.items:
            del self._under_way[id]
        if failed is None:
            self._remember(batch.items.values())
        batch.tell(failed)

    def _remember(self, items: Iterable[Heard | Draft]) -> None:
        assert self._waiting is not None
        jobs = {item.job_id for item in items if isinstance(item, Heard)}
        self._waiting.update(item.id for item in items if isinstance(item, Heard))
        self._recent.update((item.id, None) for item in items if isinstance(item, Draft))
        while len(self._recent) > RECENT:
            del self._recent[next(iter(self._recent))]
        if jobs:
            self.site.nudge(jobs)

    async def _commit(self, items: Iterable[Heard | Draft]) -> None:
        try:
            await self.store.commit(self.site.cluster.id, self._change(items))
        except Conflict:
            # Somebody else has put one of them there; the rest is still to be written.
            there = {record.value.id for record in await self.pending()}
            rest = [item for item in items if item.id not in there]
            await self.store.commit(self.site.cluster.id, self._change(rest))

    def _change(self, items: Iterable[Heard | Draft]) -> Change:
        cluster = self.site.cluster.id
        return Change(
            puts=[
                Record(kind=HEARD, id=f"{cluster}/{item.id}", value=item)
                for item in items
                if isinstance(item, Heard)
            ],
            events=[item for item in items if isinstance(item, Draft)],
        )

    async def _make_room(self, more: int) -> None:
        """Count again what waits, since much of it may have been looked into."""
        now = self.clock.now()
        if self._counted_at is None or now - self._counted_at >= COUNTED_EVERY:
            self._counted_at = now
            await self.pending()
        if more and not self._fits(more):
            assert self._waiting is not None
            raise Busy(
                f"{len(self._waiting):,} facts about jobs of {self.site.cluster.name} wait to be"
                " looked into already.",
                hint="Keep them and send them again; nothing of this request was taken.",
            )

    def _fits(self, more: int) -> bool:
        assert self._waiting is not None
        return len(self._waiting) + len(self._under_way) + more <= self.most

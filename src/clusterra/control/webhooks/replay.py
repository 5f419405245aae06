"""Deliver again: one, all that were given up, or all that were never told.

What is replayed keeps its id, so that a receiver that had it after all knows it; it goes
the ordinary way, at the ordinary pace.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from clusterra.control.webhooks.fan_out import row_of
from clusterra.control.webhooks.hearing import Hearing
from clusterra.core.change import Change
from clusterra.core.errors import Conflict, NotFound
from clusterra.core.events.event import EventQuery
from clusterra.core.events.filter import is_like
from clusterra.core.people.person import ledger_of
from clusterra.core.webhooks.delivery import (
    Delivery,
    DeliveryOrder,
    DeliveryQuery,
    DeliveryState,
    place_of,
    replayed,
)
from clusterra.core.webhooks.endpoint import Endpoint
from clusterra.ports import Clock, Store

PAGE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """What a replay comes to."""

    count: int = 0
    first_at: datetime | None = None
    last_at: datetime | None = None

    def with_(self, rows: Sequence[Delivery]) -> "Again":
        times = [row.at for row in rows]
        known = [each for each in (self.first_at, self.last_at) if each]
        return Again(
            count=self.count + len(rows),
            first_at=min([*times, *known], default=None),
            last_at=max([*times, *known], default=None),
        )


@dataclass(slots=True, kw_only=True)
class Replayer:
    store: Store
    clock: Clock
    hearing: Callable[[Endpoint], Hearing]
    """What this endpoint would hear of, whenever it was made."""

    ledgers_of: Callable[[str], Sequence[str]]
    wake: Callable[[str], None]

    async def one(self, endpoint: Endpoint, event_id: str, *, dry_run: bool) -> Again:
        row = await self.store.delivery(endpoint.id, event_id)
        if row is None:
            raise NotFound(
                f"{endpoint.name} has no delivery of the event {event_id[:64]!r}.",
                hint="`clusterra webhooks deliveries` lists them; what was never meant for it can be"
                " found with --missing-since.",
                code="delivery-not-found",
            )
        if row.state.open:
            raise Conflict(
                f"This delivery to {endpoint.name} is still being tried: {row.attempts} times so far.",
                hint="It needs no replay; look again in a while.",
                code="still-trying",
            )
        if not dry_run:
            await self._put(endpoint, [replayed(row, self.clock.now())])
        return Again().with_([row])

    async def failed(
        self, endpoint: Endpoint, since: datetime | None, types: Sequence[str], *, dry_run: bool
    ) -> Again:
        """Replay what was given up or kept, of events since then."""
        pages = self._ended(endpoint, since, types, (DeliveryState.DEAD, DeliveryState.KEPT))
        return await self._all(endpoint, pages, dry_run=dry_run)

    async def kept(self, endpoint: Endpoint) -> Again:
        """Deliver what happened while the endpoint was paused or disabled."""
        pages = self._ended(endpoint, None, (), (DeliveryState.KEPT,))
        return await self._all(endpoint, pages, dry_run=False)

    async def missing(
        self, endpoint: Endpoint, since: datetime, types: Sequence[str], *, dry_run: bool
    ) -> Again:
        """Deliver what the ledgers hold since then, is meant for it now, and was never told."""
        return await self._all(endpoint, self._untold(endpoint, since, types), dry_run=dry_run)

    async def _all(
        self, endpoint: Endpoint, pages: AsyncIterator[list[Delivery]], *, dry_run: bool
    ) -> Again:
        found = Again()
        async for rows in pages:
            found = found.with_(rows)
            if not dry_run and rows:
                await self._put(endpoint, rows)
        return found

    async def _put(self, endpoint: Endpoint, rows: Sequence[Delivery]) -> None:
        try:
            await self.store.commit(ledger_of(endpoint.workspace), Change(deliveries=rows))
        except Conflict:
            # One of them is being tried, or was replayed by somebody else; the others go.
            for row in rows:
                await self._put_alone(endpoint, row)
        self.wake(endpoint.id)

    async def _put_alone(self, endpoint: Endpoint, row: Delivery) -> None:
        try:
            await self.store.commit(ledger_of(endpoint.workspace), Change(deliveries=[row]))
        except Conflict:
            return

    async def _ended(
        self,
        endpoint: Endpoint,
        since: datetime | None,
        types: Sequence[str],
        states: tuple[DeliveryState, ...],
    ) -> AsyncIterator[list[Delivery]]:
        after = None
        while True:
            rows = await self.store.deliveries(
                DeliveryQuery(
                    endpoint=endpoint.id,
                    states=states,
                    types=tuple(types),
                    since=since,
                    order=DeliveryOrder.LEDGER,
                    after=after,
                    limit=PAGE,
                )
            )
            now = self.clock.now()
            yield [replayed(row, now) for row in rows]
            if len(rows) < PAGE:
                return
            after = place_of(rows[-1])

    async def _untold(
        self, endpoint: Endpoint, since: datetime, types: Sequence[str]
    ) -> AsyncIterator[list[Delivery]]:
        hearing = self.hearing(endpoint)
        for ledger in self.ledgers_of(endpoint.workspace):
            head, after = (await self.store.head(ledger)).size, 0
            while after < head:
                query = EventQuery(after=after, since=since, limit=PAGE)
                events = await self.store.events(ledger, query)
                if not events:
                    break
                after = events[-1].seq
                meant = [
                    event
                    for event in events
                    if (not types or any(is_like(event.type, glob) for glob in types))
                    and any(hearing.heard_by(event))
                ]
                rows = [
                    await self._untold_row(row_of(event, endpoint, self.clock.now()))
                    for event in meant
                ]
                yield [row for row in rows if row is not None]

    async def _untold_row(self, row: Delivery) -> Delivery | None:
        known = await self.store.delivery(row.endpoint, row.event_id)
        if known is None:
            return row
        if known.state in (DeliveryState.DEAD, DeliveryState.KEPT):
            return replayed(known, self.clock.now())
        return None  # told, or about to be

"""Turn events into deliveries: a row for every endpoint that hears of one.

The ledger is read from a position. The rows and the new position are one commit, and
the lease of whoever reads stands in it: whatever dies, no event is left out and none is
turned into rows twice.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from clusterra.control.lease import Tenure
from clusterra.control.webhooks.hearing import Hearing
from clusterra.core.change import Change, Kind, Record
from clusterra.core.errors import Conflict
from clusterra.core.events.event import Event, EventQuery
from clusterra.core.webhooks.delivery import Delivery, DeliveryState
from clusterra.core.webhooks.endpoint import WEBHOOK, Endpoint, EndpointState
from clusterra.ports import Clock, Store

PAGE = 500

READ_TO: Kind[int] = Kind("webhooks-told", int)
"""By ledger: the number up to which events have been turned into deliveries."""


@dataclass(slots=True, kw_only=True)
class FanOut:
    ledger: str
    store: Store
    clock: Clock
    tenure: Tenure
    hearing: Callable[[], Hearing]
    """Who there is to hear of it, now."""

    wake: Callable[[str], None]
    """Told each endpoint that there is something to deliver to."""

    _read_to: Record[int] | None = field(default=None)

    async def read_on(self) -> bool:
        """Turn a page of events into deliveries; say whether there may be more."""
        lease = await self.tenure.held()
        if lease is None:
            self._read_to = None
            return False
        endpoints = self.hearing().endpoints
        if not endpoints:
            return False  # whoever is added says where they begin
        position = await self._position(endpoints)
        events = await self.store.events(self.ledger, EventQuery(after=position.value, limit=PAGE))
        if not events:
            return False
        # Asked after the events were read: whoever was added before one of them hears of it.
        rows = self._rows(events, self.hearing())
        moved = replace(position, value=events[-1].seq)
        if rows or len(events) == PAGE:
            if not await self._commit(rows, moved):
                return True
        else:
            self._read_to = moved
        return len(events) == PAGE

    def _rows(self, events: Sequence[Event], hearing: Hearing) -> list[Delivery]:
        now = self.clock.now()
        return [
            row_of(event, endpoint, now) for event in events for endpoint in hearing.heard_by(event)
        ]

    async def _commit(self, rows: list[Delivery], moved: Record[int]) -> bool:
        try:
            await self._put(rows, moved)
        except Conflict:
            return await self._went_elsewhere(rows, moved)
        self._read_to = replace(moved, version=moved.version + 1)
        return True

    async def _went_elsewhere(self, rows: list[Delivery], moved: Record[int]) -> bool:
        """Commit what is not there yet: some of it was told or replayed by hand meanwhile."""
        self.tenure.lost()
        lease = await self.tenure.held()
        self._read_to = None
        there = await self.store.get(READ_TO, self.ledger, default=moved.value)
        if lease is None or there.version != moved.version:
            return False
        new = [row for row in rows if await self.store.delivery(row.endpoint, row.event_id) is None]
        try:
            await self._put(new, moved)
        except Conflict:
            return False
        return True

    async def _put(self, rows: list[Delivery], moved: Record[int]) -> None:
        rows, idle = await self._judged(rows)
        lease = self.tenure.latest
        unmoved = [lease, *idle] if lease else idle
        await self.store.commit(self.ledger, Change(deliveries=rows, puts=[moved], unmoved=unmoved))
        for endpoint in {row.endpoint for row in rows if row.due is not None}:
            self.wake(endpoint)

    async def _judged(self, rows: list[Delivery]) -> tuple[list[Delivery], list[Record[Any]]]:
        """Look again at whoever something is kept for, and return who must stay as they are.

        An endpoint that is brought back is told what was kept. A row that is kept only after
        that would stay so, and nobody would ask for it.
        """
        kept_for = {row.endpoint for row in rows if row.state is DeliveryState.KEPT}
        found = [record for id in kept_for for record in await self.store.list(WEBHOOK, id)]
        back = {each.id for each in found if each.value.state is EndpointState.ACTIVE}
        now = self.clock.now()
        rows = [
            replace(row, state=DeliveryState.PENDING, due=now) if row.endpoint in back else row
            for row in rows
        ]
        return rows, [record for record in found if record.id not in back]

    async def _position(self, endpoints: Sequence[Endpoint]) -> Record[int]:
        """Return where to read on: nobody hears of what was before the first of them began."""
        if self._read_to is None:
            self._read_to = await self.store.get(READ_TO, self.ledger, default=0)
        first = min(each.begins.get(self.ledger, 0) for each in endpoints)
        return replace(self._read_to, value=max(self._read_to.value, first))


def row_of(event: Event, endpoint: Endpoint, now: datetime) -> Delivery:
    active = endpoint.state is EndpointState.ACTIVE
    return Delivery(
        endpoint=endpoint.id,
        event_id=event.id,
        ledger=event.cluster,
        seq=event.seq,
        type=event.type,
        subject=event.subject,
        at=event.at,
        made_at=now,
        state=DeliveryState.PENDING if active else DeliveryState.KEPT,
        due=now if active else None,
    )

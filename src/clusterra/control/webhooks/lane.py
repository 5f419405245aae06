"""Deliver to one endpoint: take what is due, send it, write down what came of it.

A lane is one endpoint's alone, so that whoever hangs holds up nobody else. What is sent is
under way until what came of it is written: a process that dies repeats no more than the
lane is wide. What waits here is in the store and nowhere else.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from clusterra.control.lease import Tenure
from clusterra.control.webhooks.outlet import Outlet
from clusterra.control.webhooks.record import Recording
from clusterra.control.webhooks.slots import Slots
from clusterra.core.events.event import Event
from clusterra.core.webhooks.breaker import Breaker
from clusterra.core.webhooks.bucket import Bucket
from clusterra.core.webhooks.delivery import OPEN, Delivery, DeliveryOrder, DeliveryQuery
from clusterra.core.webhooks.endpoint import Endpoint, EndpointState
from clusterra.core.webhooks.outcome import Judgement, judged
from clusterra.ports import Clock, Store

PAGE = 200
"""Deliveries read at a time."""

TOGETHER = 50
"""The most events in one message that people read."""

ANOTHER_HAS_IT = timedelta(seconds=5)
"""When to look again whether whoever delivers here still does."""


@dataclass(frozen=True, slots=True)
class Item:
    delivery: Delivery
    event: Event | None
    """None if it has left the ledger."""


@dataclass(slots=True, kw_only=True)
class Lane:
    id: str
    """Of the endpoint."""

    find: Callable[[str], Endpoint | None]
    store: Store
    clock: Clock
    tenure: Tenure
    slots: Slots
    outlet: Outlet
    recording: Recording
    breaker: Breaker
    bucket: Bucket = field(default_factory=lambda: Bucket(per_second=0))
    held_until: datetime | None = None
    """The receiver has asked for time. What was under way then and is taken does not shorten it."""

    _recovering: bool = False
    """It answers again after it did not: what waits goes now, in the order of the ledger."""

    _ready: "deque[Item]" = field(default_factory=deque)
    _busy: set[str] = field(default_factory=set)
    """Events that are under way."""

    _reading: asyncio.Lock = field(default_factory=asyncio.Lock)
    _free_at: datetime | None = None

    async def work(self) -> datetime | None:
        """Tell all that is due; return when there is more to do, or None if nothing waits."""
        self._ready.clear()
        self._free_at = None
        async with asyncio.TaskGroup() as workers:
            workers.create_task(self._worker(workers))
        return await self._next_due()

    async def _worker(self, workers: asyncio.TaskGroup) -> None:
        while taken := await self._take():
            endpoint, items = taken
            if self._ready and len(self._busy) < self._width(endpoint):
                workers.create_task(self._worker(workers))
            try:
                await self._tell(endpoint, items)
            finally:
                self._busy.difference_update(each.delivery.event_id for each in items)
            if len(self._busy) >= self._width(endpoint):
                return  # the others are enough

    def _width(self, endpoint: Endpoint) -> int:
        return 1 if endpoint.ordered or endpoint.format.is_chat else self.breaker.width

    # --- taking

    async def _take(self) -> tuple[Endpoint, list[Item]] | None:
        async with self._reading:
            endpoint = self.find(self.id)
            if endpoint is None or not await self._may_send(endpoint):
                return None
            if not self._ready:
                await self._read(endpoint)
            if len(self._busy) >= self._width(endpoint):
                return None  # several were let in for one place, and another has taken it
            if not self._ready or not self._has_room(endpoint):
                return None
            most = TOGETHER if endpoint.format.is_chat else 1
            taken = [self._ready.popleft() for _ in range(min(most, len(self._ready)))]
            self._busy.update(each.delivery.event_id for each in taken)
            return endpoint, taken

    async def _may_send(self, endpoint: Endpoint) -> bool:
        now = self.clock.now()
        if endpoint.state is not EndpointState.ACTIVE:
            return False
        self._free_at = max(
            (each for each in (self.held_until, self.breaker.left_alone_until) if each),
            default=None,
        )
        if self._free_at is not None and now < self._free_at:
            return False
        if self.breaker.left_alone_until is not None and self._busy:
            return False  # one message tries, and no more
        if await self.tenure.held() is None:
            self._free_at = now + ANOTHER_HAS_IT
            return False
        self._free_at = None
        return True

    def _has_room(self, endpoint: Endpoint) -> bool:
        if not endpoint.per_second:
            return True
        self.bucket.per_second = endpoint.per_second
        self.bucket.burst = max(1, endpoint.per_second)
        self._free_at = self.bucket.take(self.clock.now())
        return self._free_at is None

    async def _read(self, endpoint: Endpoint) -> None:
        """Read what may be sent now, first tries before others."""
        # What is under way when we ask may be over, and still look due, when we are answered.
        under_way = set(self._busy)
        if endpoint.ordered or self._recovering:
            found = await self._in_order()
        else:
            found = await self._due(tried=False)
            found += await self._due(tried=True)
        found = [each for each in found if each.event_id not in under_way]
        events = await self._events(found)
        self._ready.extend(Item(each, events.get(each.event_id)) for each in found)

    async def _in_order(self) -> list[Delivery]:
        query = DeliveryQuery(endpoint=self.id, states=OPEN, order=DeliveryOrder.LEDGER, limit=PAGE)
        found = list(await self.store.deliveries(query))
        if self._recovering:
            if not found:
                self._recovering = False
            return found
        now = self.clock.now()
        for place, each in enumerate(found):
            if each.due is not None and each.due > now:
                return found[:place]  # what follows waits for it
        return found

    async def _due(self, *, tried: bool) -> list[Delivery]:
        query = DeliveryQuery(
            endpoint=self.id,
            states=OPEN,
            due_by=self.clock.now(),
            tried=tried,
            order=DeliveryOrder.DUE,
            limit=PAGE,
        )
        return list(await self.store.deliveries(query))

    async def _next_due(self) -> datetime | None:
        if (endpoint := self.find(self.id)) is None or endpoint.state is not EndpointState.ACTIVE:
            return None
        query = DeliveryQuery(
            endpoint=self.id,
            states=OPEN,
            order=DeliveryOrder.LEDGER if endpoint.ordered else DeliveryOrder.DUE,
            limit=1,
        )
        waiting = await self.store.deliveries(query)
        if not waiting or waiting[0].due is None:
            return None
        return max(waiting[0].due, self._free_at or waiting[0].due)

    # --- telling

    async def _tell(self, endpoint: Endpoint, items: Sequence[Item]) -> None:
        if missing := [each.delivery for each in items if each.event is None]:
            await self.recording.left_the_ledger(endpoint, missing)
        there = [each.delivery for each in items if each.event is not None]
        if not there:
            return
        events = [each.event for each in items if each.event is not None]
        async with self.slots.one(first=any(each.attempts == 0 for each in there)):
            began = self.clock.now()
            sent = await self.outlet.send(endpoint, events, replay=any(d.replays for d in there))
        now = self.clock.now()
        judgement = judged(sent.answer, endpoint.format, now)
        self._learn(judgement, timedelta(milliseconds=sent.answer.timings.total_ms), now)
        written = await self.recording.write(endpoint, there, sent, judgement, began=began)
        if judgement.gone:
            await self.recording.gone(endpoint, judgement.why)
        elif not written:
            self._ready.clear()  # somebody else has changed something: read again

    async def _events(self, deliveries: Sequence[Delivery]) -> dict[str, Event]:
        wanted: dict[str, set[int]] = {}
        for each in deliveries:
            wanted.setdefault(each.ledger, set()).add(each.seq)
        found: dict[str, Event] = {}
        for ledger, seqs in wanted.items():
            for event in (await self.store.events_at(ledger, seqs)).values():
                found[event.id] = event
        return found

    def _learn(self, judgement: Judgement, took: timedelta, now: datetime) -> None:
        if judgement.ok:
            if self.breaker.left_alone_until is not None:
                self._recovering = True
                self._ready.clear()
            self.breaker.answered(took)
            return
        if judgement.for_good and judgement.hint is None:
            return  # it answers, and would not have this message
        self._ready.clear()
        self._recovering = False
        self.breaker.failed(now)
        if judgement.hint is not None:
            self.held_until = now + judgement.hint

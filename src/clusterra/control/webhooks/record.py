"""Write down what came of an attempt: the delivery, the attempt, and what follows for the endpoint."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from clusterra.control.lease import Tenure
from clusterra.control.people.doing import SYSTEM, told
from clusterra.control.webhooks.endpoints import Endpoints
from clusterra.control.webhooks.hearing import ITSELF
from clusterra.control.webhooks.outlet import Sent
from clusterra.control.webhooks.together import Result, Together
from clusterra.core.change import Change, Record
from clusterra.core.errors import Conflict, NotFound
from clusterra.core.events.catalogue import webhooks as facts
from clusterra.core.events.event import Draft
from clusterra.core.events.fact import Fact
from clusterra.core.ids import uuid8
from clusterra.core.people.person import ledger_of
from clusterra.core.webhooks.delivery import Attempt, Delivery, DeliveryState
from clusterra.core.webhooks.endpoint import HEALTH, Endpoint, EndpointState, Health
from clusterra.core.webhooks.exchange import SNIPPET
from clusterra.core.webhooks.health import after_failure, is_to_be_told, percent, why_given_up
from clusterra.core.webhooks.outcome import Judgement, after_attempt
from clusterra.ports import Clock, Store

TRIES = 3
"""How often a result is written anew because something it stands on has moved."""

GONE_FROM_LEDGER = "The event has left the ledger, and its text with it."


@dataclass(slots=True, kw_only=True)
class Recording:
    """Of one lane."""

    store: Store
    clock: Clock
    tenure: Tenure
    endpoints: Endpoints
    chance: Callable[[], float]
    _together: Together = field(init=False)
    _health: Record[Health] | None = None
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        self._together = Together(store=self.store, tenure=self.tenure)

    async def write(
        self,
        endpoint: Endpoint,
        deliveries: Sequence[Delivery],
        sent: Sent,
        judgement: Judgement,
        *,
        began: datetime,
    ) -> bool:
        """Write what came of it; say whether all of it was as we knew it."""
        attempts = [
            await self._attempt(each, sent, judgement, began, together=len(deliveries))
            for each in deliveries
        ]
        known = list(deliveries)
        for _ in range(TRIES):
            rows = [self._after(each, sent, judgement) for each in known]
            if await self._commit(endpoint, rows, attempts):
                break
            known, attempts = await self._still_there(known, attempts)
        await self._note_health(endpoint, judgement)
        return known == list(deliveries)

    async def left_the_ledger(self, endpoint: Endpoint, deliveries: Sequence[Delivery]) -> None:
        """Give up what cannot be read any more."""
        now = self.clock.now()
        rows = [
            replace(each, state=DeliveryState.DEAD, due=None, ended_at=now, why=GONE_FROM_LEDGER)
            for each in deliveries
        ]
        await self._commit(endpoint, rows, [])

    async def gone(self, endpoint: Endpoint, why: str) -> None:
        """Ask it no more, because it said that it is gone."""
        try:
            await self.endpoints.turn(endpoint.id, EndpointState.DISABLED, why=why)
        except (Conflict, NotFound):
            return  # somebody has changed or removed it: they know

    # --- what is written

    def _after(self, delivery: Delivery, sent: Sent, judgement: Judgement) -> Delivery:
        return after_attempt(
            delivery, sent.answer, judgement, now=self.clock.now(), chance=self.chance()
        )

    async def _attempt(
        self,
        delivery: Delivery,
        sent: Sent,
        judgement: Judgement,
        began: datetime,
        *,
        together: int,
    ) -> Attempt:
        before = delivery.attempts
        if delivery.replays:
            earlier = await self.store.attempts(delivery.endpoint, delivery.event_id)
            before = earlier[-1].number if earlier else 0
        answer = sent.answer
        return Attempt(
            endpoint=delivery.endpoint,
            event_id=delivery.event_id,
            at=began,
            number=before + 1,
            request_id=sent.request_id,
            status=answer.status,
            failure=answer.failure or "",
            why=judgement.why,
            timings=answer.timings,
            remote=answer.remote,
            snippet=answer.snippet[:SNIPPET].decode(errors="replace"),
            replay=delivery.replays > 0,
            together=together,
        )

    async def _commit(
        self, endpoint: Endpoint, rows: Sequence[Delivery], attempts: Sequence[Attempt]
    ) -> bool:
        if not rows and not attempts:
            return True
        dead = [
            self._dead(endpoint, row)
            for row in rows
            # Of what is about webhooks it is not told, or two that fail would tell each other.
            if row.state is DeliveryState.DEAD and not row.type.startswith(ITSELF)
        ]
        result = Result(rows=rows, attempts=attempts, events=dead)
        return await self._together.write(ledger_of(endpoint.workspace), result)

    async def _still_there(
        self, deliveries: Sequence[Delivery], attempts: Sequence[Attempt]
    ) -> tuple[list[Delivery], list[Attempt]]:
        """Look again, after a conflict: at the lease, and at what was replayed or removed meanwhile."""
        if await self.tenure.held() is None:
            return [], []  # whoever has it now will try again, and write that down
        versions = {each.event_id: each.version for each in deliveries}
        there: set[str] = set()
        kept = []
        for attempt in attempts:
            now = await self.store.delivery(attempt.endpoint, attempt.event_id)
            if now is None:
                continue  # its endpoint was removed
            kept.append(attempt)
            if now.version == versions.get(attempt.event_id):
                there.add(attempt.event_id)
        return [each for each in deliveries if each.event_id in there], kept

    def _dead(self, endpoint: Endpoint, row: Delivery) -> Draft:
        fact = facts.WebhookDeliveryDead(
            id=endpoint.id,
            name=endpoint.name,
            why=row.why,
            event_id=row.event_id,
            event_type=row.type,
            attempts=row.attempts,
        )
        id = uuid8("webhook.delivery.dead", row.endpoint, row.event_id, row.replays)
        return replace(self._told(endpoint, fact), id=id)

    def _told(self, endpoint: Endpoint, fact: Fact) -> Draft:
        subject = f"webhook/{endpoint.id}"
        return told(fact, actor=SYSTEM, subject=subject, at=self.clock.now())

    # --- how the endpoint does

    async def _note_health(self, endpoint: Endpoint, judgement: Judgement) -> None:
        if judgement.ok and self._health is not None and not self._health.value.failures:
            return
        async with self._one_at_a_time:
            if self._health is None:
                self._health = await self.store.get(HEALTH, endpoint.id, default=Health())
            if judgement.ok:
                await self._recovered(endpoint, self._health)
            elif not judgement.for_good:
                await self._failed(endpoint, self._health, judgement)

    async def _recovered(self, endpoint: Endpoint, health: Record[Health]) -> None:
        if not health.value.failures:
            return
        self._health = Record(kind=HEALTH, id=endpoint.id, value=Health())
        if not health.version:
            return
        fact = facts.WebhookRecovered(
            id=endpoint.id, name=endpoint.name, failures=health.value.failures
        )
        await self._keep(endpoint, Change(drops=[health], events=[self._told(endpoint, fact)]))

    async def _failed(
        self, endpoint: Endpoint, health: Record[Health], judgement: Judgement
    ) -> None:
        now = self.clock.now()
        value = after_failure(health.value, now)
        self._health = replace(health, value=value)
        if why := why_given_up(value, now):
            await self.gone(endpoint, why)
            return
        if (far := is_to_be_told(value, now)) is None:
            return
        noted = replace(health, value=replace(value, warned=max(far, 1)))
        fact = facts.WebhookFailing(
            id=endpoint.id,
            name=endpoint.name,
            why=judgement.why,
            failures=value.failures,
            percent=percent(value, now),
        )
        change = Change(puts=[noted], events=[self._told(endpoint, fact)])
        if await self._keep(endpoint, change):
            self._health = replace(noted, version=noted.version + 1)

    async def _keep(self, endpoint: Endpoint, change: Change) -> bool:
        try:
            await self.store.commit(ledger_of(endpoint.workspace), change)
        except Conflict:
            self._health = None  # looked at again with the next attempt
            return False
        return True

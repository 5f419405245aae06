"""Webhooks and deliveries, as they travel: without what is not for whoever asks."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

import msgspec

from clusterra.api.guest import OPERATOR, Guest
from clusterra.control.plane import Plane
from clusterra.control.webhooks.outlet import Sent
from clusterra.core.events.event import Event
from clusterra.core.webhooks.delivery import OPEN, Attempt, Delivery, DeliveryState, Timings
from clusterra.core.webhooks.endpoint import HEALTH, Endpoint, EndpointState, Health, Reach
from clusterra.core.webhooks.outcome import judged
from clusterra.core.webhooks.retry import SCHEDULE
from clusterra.core.webhooks.sign import public_text
from clusterra.core.webhooks.words import next_step, sentence
from clusterra.wire.webhooks import (
    AttemptView,
    DeliveryDetail,
    DeliveryView,
    TimingsView,
    WebhookTested,
    WebhookView,
)

DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Who looks at what an endpoint answered."""

    runs_the_server: bool
    person: str

    @classmethod
    def of(cls, guest: Guest) -> "Reader":
        return cls(runs_the_server=guest.by == OPERATOR, person=guest.person.id)

    def sees_answers(self, endpoint: Endpoint) -> bool:
        """Whether the body of an answer is for them: a private host's is for who runs the server,
        or webhooks would be a way to read what only the server reaches."""
        if endpoint.reach is not Reach.PUBLIC:
            return self.runs_the_server
        return self.person == endpoint.owner


async def webhook_view(plane: Plane, endpoint: Endpoint) -> WebhookView:
    store, now = plane.store, plane.clock.now()
    health = (await store.get(HEALTH, endpoint.id, default=Health())).value
    tally = await store.delivery_tally(endpoint.id)
    day = await store.delivery_tally(endpoint.id, now - DAY)
    owner = plane.people.directory.person(endpoint.owner)
    interest, key = endpoint.interest, plane.webhooks.endpoints.public_key(endpoint)
    return WebhookView(
        id=endpoint.id,
        name=endpoint.name,
        workspace=endpoint.workspace,
        owner=owner.email if owner else "",
        format=endpoint.format,
        url=endpoint.url_shown,
        types=list(interest.types),
        clusters=list(interest.clusters),
        people=list(interest.people),
        partitions=list(interest.partitions),
        states=list(interest.states),
        names=list(interest.names),
        severity=interest.severity,
        ordered=endpoint.ordered,
        ed25519=endpoint.ed25519,
        public_key=public_text(key) if key else "",
        allow_private=endpoint.reach is not Reach.PUBLIC,
        zone=endpoint.zone,
        per_second=endpoint.per_second,
        state=endpoint.state,
        why=_why(plane, endpoint, health),
        since=endpoint.since,
        created_at=endpoint.created_at,
        failing_since=health.failing_since,
        waiting=sum(tally.get(state, 0) for state in OPEN),
        kept=tally.get(DeliveryState.KEPT, 0),
        delivered_day=day.get(DeliveryState.OK, 0),
        dead=tally.get(DeliveryState.DEAD, 0),
        secrets=sum(each.until is None or each.until > now for each in endpoint.secrets),
    )


def _why(plane: Plane, endpoint: Endpoint, health: Health) -> str:
    if endpoint.why:
        return endpoint.why
    if plane.webhooks.standing_of(endpoint) is None:
        return "Whoever made it is not in the workspace any more, so it is told nothing."
    if endpoint.state is EndpointState.ACTIVE and health.failing_since is not None:
        return f"It has failed {health.failures} times in a row or more."
    return ""


def delivery_view(delivery: Delivery) -> DeliveryView:
    return DeliveryView(
        event_id=delivery.event_id,
        webhook=delivery.endpoint,
        type=delivery.type,
        subject=delivery.subject,
        cluster=delivery.ledger,
        seq=delivery.seq,
        at=delivery.at,
        state=delivery.state,
        attempts=delivery.attempts,
        most_attempts=len(SCHEDULE),
        next_at=delivery.due,
        ended_at=delivery.ended_at,
        status=delivery.status,
        took_ms=delivery.took_ms,
        why=delivery.why,
        replays=delivery.replays,
    )


def detail_view(
    delivery: Delivery,
    attempts: Sequence[Attempt],
    event: Event | None,
    endpoint: Endpoint,
    reader: Reader,
) -> DeliveryDetail:
    return DeliveryDetail(
        delivery=delivery_view(delivery),
        sentence=sentence(delivery, endpoint),
        attempts=[attempt_view(each, endpoint, reader) for each in attempts],
        event=None if event is None else msgspec.json.decode(event.body),
    )


def attempt_view(attempt: Attempt, endpoint: Endpoint, reader: Reader) -> AttemptView:
    return AttemptView(
        number=attempt.number,
        at=attempt.at,
        status=attempt.status,
        failure=attempt.failure,
        why=attempt.why,
        timings=_timings(attempt.timings),
        request_id=attempt.request_id,
        remote=attempt.remote if reader.runs_the_server else "",
        response=attempt.snippet if reader.sees_answers(endpoint) else "",
        replay=attempt.replay,
        together=attempt.together,
    )


def tested_view(
    plane: Plane, endpoint: Endpoint, event: Event, sent: Sent, reader: Reader
) -> WebhookTested:
    now, answer = plane.clock.now(), sent.answer
    judgement = judged(answer, endpoint.format, now)
    attempt = Attempt(
        endpoint=endpoint.id,
        event_id=event.id,
        at=now,
        number=1,
        request_id=sent.request_id,
        status=answer.status,
        failure=answer.failure or "",
        why=judgement.why,
        timings=answer.timings,
        remote=answer.remote,
        snippet=answer.snippet.decode(errors="replace"),
    )
    return WebhookTested(
        id=endpoint.id,
        name=endpoint.name,
        type=event.type,
        ok=judgement.ok,
        attempt=attempt_view(attempt, endpoint, reader),
        hint="" if judgement.ok else next_step(answer, endpoint),
    )


def _timings(timings: Timings) -> TimingsView:
    return TimingsView(
        dns_ms=timings.dns_ms,
        connect_ms=timings.connect_ms,
        tls_ms=timings.tls_ms,
        first_byte_ms=timings.first_byte_ms,
        total_ms=timings.total_ms,
    )

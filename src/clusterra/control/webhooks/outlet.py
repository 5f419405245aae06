"""The way out: an event in the form its endpoint wants, signed, sent once."""

import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hmac import HMAC

from clusterra import __version__
from clusterra.control.webhooks.endpoints import Endpoints
from clusterra.core.errors import ClusterraError
from clusterra.core.events.event import Event
from clusterra.core.webhooks.endpoint import Endpoint, Format
from clusterra.core.webhooks.exchange import Answer, Failure, Outgoing
from clusterra.core.webhooks.formats.detect import recipients
from clusterra.core.webhooks.formats.render import mailed, rendered
from clusterra.core.webhooks.sign import begun, signed_headers
from clusterra.core.webhooks.telling import Place, Telling
from clusterra.ports import Clock, Mailer, Sender, Vault

AGENT = f"clusterra/{__version__}"
REQUEST_ID = "clusterra-request-id"
REPLAY = "webhook-replay"
CLOUD_EVENT = "application/cloudevents+json; charset=utf-8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    answer: Answer
    request_id: str


@dataclass(frozen=True, slots=True)
class _Opened:
    """An endpoint with what is locked in it unlocked."""

    endpoint: Endpoint
    url: str = field(repr=False)
    secrets: tuple[tuple[HMAC, datetime | None], ...] = field(repr=False)
    """Signatures begun with them, each with when it ends."""

    credential: str = field(repr=False)


@dataclass(slots=True, kw_only=True)
class Outlet:
    endpoints: Endpoints
    sender: Sender
    mailer: Mailer | None
    vault: Vault
    clock: Clock
    telling: Callable[[Endpoint, Event], Awaitable[Telling]]
    """What there is to say about an event, to whoever made the endpoint."""

    place: Callable[[Endpoint], Place]
    _opened: dict[str, _Opened] = field(default_factory=dict)

    async def send(
        self, endpoint: Endpoint, events: Sequence[Event], *, replay: bool = False
    ) -> Sent:
        """Send it once. Whatever goes wrong is an answer."""
        request_id = f"req_{random.getrandbits(96):024x}"  # to be found in logs, and no secret
        try:
            opened = self._open(endpoint)
        except ClusterraError as error:
            answer = Answer(failure=Failure.URL, why=error.detail)
            return Sent(answer=answer, request_id=request_id)
        if endpoint.format is Format.EMAIL:
            return Sent(answer=await self._mail(opened, events), request_id=request_id)
        if endpoint.format is Format.JSON:
            [event] = events
            body, headers = event.body, self._signed(opened, event)
        else:
            body, headers = await self._message(opened, events)
        headers["user-agent"], headers[REQUEST_ID] = AGENT, request_id
        if replay:
            headers[REPLAY] = "1"
        outgoing = Outgoing(url=opened.url, body=body, headers=headers, reach=endpoint.reach)
        return Sent(answer=await self.sender.send(outgoing), request_id=request_id)

    def forget(self, id: str) -> None:
        """Let go of what was unlocked of an endpoint that is gone."""
        self._opened.pop(id, None)

    def _signed(self, opened: _Opened, event: Event) -> dict[str, str]:
        now = self.clock.now()
        live = [each for each, until in opened.secrets if until is None or now < until]
        signer = self.endpoints.signer(opened.endpoint)
        headers = signed_headers(event.id, now, event.body, live, signer)
        headers["content-type"] = CLOUD_EVENT
        return headers

    async def _message(
        self, opened: _Opened, events: Sequence[Event]
    ) -> tuple[bytes, dict[str, str]]:
        endpoint = opened.endpoint
        tellings = [await self.telling(endpoint, event) for event in events]
        made = rendered(endpoint.format, tellings, self.place(endpoint))
        headers = dict(made.headers)
        if opened.credential:
            headers["authorization"] = f"Bearer {opened.credential}"
        return made.body, headers

    async def _mail(self, opened: _Opened, events: Sequence[Event]) -> Answer:
        if self.mailer is None:
            return Answer(
                failure=Failure.MAIL, why="This server sends no e-mails: it has no mail server."
            )
        endpoint = opened.endpoint
        tellings = [await self.telling(endpoint, event) for event in events]
        place = self.place(endpoint)
        return await self.mailer.mail(mailed(tellings, place, to=recipients(opened.url)))

    def _open(self, endpoint: Endpoint) -> _Opened:
        known = self._opened.get(endpoint.id)
        if known is None or known.endpoint is not endpoint:
            unlock = self.vault.unlock
            known = self._opened[endpoint.id] = _Opened(
                endpoint,
                unlock(endpoint.url_sealed),
                tuple((begun(unlock(each.sealed)), each.until) for each in endpoint.secrets),
                unlock(endpoint.credential_sealed) if endpoint.credential_sealed else "",
            )
        return known

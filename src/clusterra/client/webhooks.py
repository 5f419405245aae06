"""The part of the API about webhooks.

It is reached as `client.webhooks` and asks through that client, which keeps the answer.
"""

from collections.abc import Mapping, Sequence
from urllib.parse import quote, urlencode

import msgspec

from clusterra.client.people import Ask
from clusterra.wire.webhooks import (
    AddWebhook,
    DeliveryDetail,
    DeliveryPage,
    EventTriggered,
    Replay,
    Replayed,
    RotateSecret,
    SecretRotated,
    TestWebhook,
    TriggerEvent,
    WebhookChanged,
    WebhookDeleted,
    WebhookMade,
    WebhookPage,
    WebhookTested,
    WebhookView,
)


class Webhooks:
    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def list(self, workspace: str = "", *, cursor: str | None = None) -> WebhookPage:
        """Return those one may see, of one workspace or of all."""
        asked = [("workspace", workspace), ("cursor", cursor)]
        return self._ask(WebhookPage, "GET", _at() + _asking(asked))

    def add(self, wanted: AddWebhook) -> WebhookMade:
        """Make one; the answer has its secret, this once."""
        return self._ask(WebhookMade, "POST", _at(), _said(wanted))

    def show(self, webhook: str) -> WebhookView:
        return self._ask(WebhookView, "GET", _at(webhook))

    def edit(self, webhook: str, edit: Mapping[str, object]) -> WebhookChanged:
        """Change one: fields of `EditWebhook`, and only those that are to be different."""
        return self._ask(WebhookChanged, "PATCH", _at(webhook), dict(edit))

    def delete(self, webhook: str) -> WebhookDeleted:
        return self._ask(WebhookDeleted, "DELETE", _at(webhook))

    def rotate(self, webhook: str, wanted: RotateSecret) -> SecretRotated:
        return self._ask(SecretRotated, "POST", _at(webhook, "rotate"), wanted)

    def test(self, webhook: str, type: str = "") -> WebhookTested:
        """Have an event made up and sent once; it is in no ledger."""
        asked = TestWebhook(type=type) if type else TestWebhook()
        return self._ask(WebhookTested, "POST", _at(webhook, "test"), asked)

    def trigger(self, type: str, workspace: str = "") -> EventTriggered:
        """Have an event made up and sent to every webhook that would be told of such a one."""
        asked = TriggerEvent(type=type, workspace=workspace)
        return self._ask(EventTriggered, "POST", _at("trigger"), asked)

    def deliveries(
        self,
        webhook: str,
        *,
        states: Sequence[str] = (),
        types: Sequence[str] = (),
        limit: int | None = None,
        cursor: str | None = None,
    ) -> DeliveryPage:
        """Return what was, is and will be delivered; the newest first."""
        asked = [
            *(("state", each) for each in states),
            *(("type", each) for each in types),
            ("limit", limit),
            ("cursor", cursor),
        ]
        return self._ask(DeliveryPage, "GET", _at(webhook, "deliveries") + _asking(asked))

    def delivery(self, webhook: str, event: str) -> DeliveryDetail:
        return self._ask(DeliveryDetail, "GET", _at(webhook, "deliveries", event))

    def replay(self, webhook: str, wanted: Replay) -> Replayed:
        return self._ask(Replayed, "POST", _at(webhook, "replay"), _said(wanted))


def _at(*more: str) -> str:
    return "/".join(("/v1/webhooks", *(quote(each, safe="") for each in more)))


def _asking(asked: Sequence[tuple[str, str | int | None]]) -> str:
    given = [(name, value) for name, value in asked if value]
    return f"?{urlencode(given)}" if given else ""


def _said(wanted: AddWebhook | Replay) -> dict[str, object]:
    """Return what was said, without what is only its default."""
    given: dict[str, object] = msgspec.to_builtins(wanted)
    return {name: value for name, value in given.items() if value}

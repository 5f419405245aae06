"""How endpoints answer."""

from dataclasses import dataclass

from clusterra.core.events.fact import Fact, event


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookFact(Fact):
    id: str
    """Which webhook: `whk_…`."""

    name: str = ""
    why: str = ""


@event("webhook.failing")
class WebhookFailing(WebhookFact):
    """A webhook has not been reached for a while; told again as it comes nearer to being disabled."""

    failures: int = 0
    """In a row."""

    percent: int = 0
    """How far it is on the way to being disabled."""


@event("webhook.recovered")
class WebhookRecovered(WebhookFact):
    """A webhook that failed was reached again."""

    failures: int = 0


@event("webhook.disabled")
class WebhookDisabled(WebhookFact):
    """A webhook said that it is gone, or failed for days. What happens meanwhile is kept."""


@event("webhook.delivery.dead")
class WebhookDeliveryDead(WebhookFact):
    """An event could not be told, and is tried no more. It can be replayed."""

    event_id: str = ""
    event_type: str = ""
    attempts: int = 0

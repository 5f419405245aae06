"""Deliveries to test with."""

from datetime import timedelta
from typing import Any

from clusterra.core.webhooks.delivery import Attempt, Delivery
from tests.builders import NOON
from tests.ledger import LAB

OURS = "whk_ours"


def a_delivery(n: int = 1, **more: Any) -> Delivery:
    """Return the delivery of event `n`, made `n` seconds after noon."""
    known: dict[str, Any] = {
        "endpoint": OURS,
        "event_id": f"event-{n}",
        "ledger": LAB,
        "seq": n,
        "type": "job.started",
        "subject": f"job/{n}",
        "at": NOON + timedelta(seconds=n),
        "made_at": NOON + timedelta(seconds=n),
    }
    return Delivery(**(known | more))


def an_attempt(n: int = 1, number: int = 1, **more: Any) -> Attempt:
    known: dict[str, Any] = {
        "endpoint": OURS,
        "event_id": f"event-{n}",
        "at": NOON,
        "number": number,
        "request_id": f"req-{n}-{number}",
    }
    return Attempt(**(known | more))

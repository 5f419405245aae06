"""Webhooks and deliveries as the API answers them, changed by what a test cares about."""

from datetime import timedelta
from typing import Any

from clusterra.wire.webhooks import (
    AttemptView,
    DeliveryView,
    TimingsView,
    WebhookPage,
    WebhookTested,
    WebhookView,
)
from tests.cli.world import NOON

HOOKS = "/v1/webhooks"
EVENT = "0197a1b2-0000-8000-8000-000000000041"


def a_webhook(id: str = "whk_1a2b3c", **known: Any) -> WebhookView:
    fields: dict[str, Any] = {
        "name": "ci",
        "workspace": "lab",
        "owner": "ana@lab.example",
        "format": "json",
        "url": "https://ci.lab.example/hook",
        "types": ["job.*"],
        "clusters": [],
        "people": [],
        "partitions": [],
        "states": [],
        "names": [],
        "severity": "info",
        "ordered": False,
        "ed25519": False,
        "public_key": "",
        "allow_private": False,
        "zone": "UTC",
        "per_second": 0,
        "state": "active",
        "why": "",
        "since": NOON,
        "created_at": NOON,
        "failing_since": None,
        "waiting": 0,
        "kept": 0,
        "delivered_day": 120,
        "dead": 0,
        "secrets": 1,
    }
    return WebhookView(id=id, **(fields | known))


def a_list(*webhooks: WebhookView) -> WebhookPage:
    return WebhookPage(webhooks=[*webhooks], total=len(webhooks))


def an_attempt(**known: Any) -> AttemptView:
    fields: dict[str, Any] = {
        "number": 1,
        "at": NOON,
        "status": 200,
        "failure": "",
        "why": "",
        "timings": TimingsView(
            dns_ms=1.04, connect_ms=0.4, tls_ms=None, first_byte_ms=12.3, total_ms=14
        ),
        "request_id": "req-1",
        "remote": "",
        "response": "ok\n",
        "replay": False,
        "together": 1,
    }
    return AttemptView(**(fields | known))


REFUSED = an_attempt(
    status=None,
    failure="connect",
    why="Nobody listens at this address.",
    timings=TimingsView(
        dns_ms=1.04, connect_ms=None, tls_ms=None, first_byte_ms=None, total_ms=2.2
    ),
    response="",
)


def a_trial(**known: Any) -> WebhookTested:
    fields: dict[str, Any] = {
        "id": "whk_1a2b3c",
        "type": "job.completed",
        "ok": True,
        "attempt": an_attempt(),
        "hint": "",
        "name": "ci",
    }
    return WebhookTested(**(fields | known))


def a_delivery(event_id: str = EVENT, **known: Any) -> DeliveryView:
    fields: dict[str, Any] = {
        "webhook": "whk_1a2b3c",
        "type": "job.failed",
        "subject": "job/41",
        "cluster": "clus1a2b",
        "seq": 41,
        "at": NOON - timedelta(minutes=2),
        "state": "ok",
        "attempts": 1,
        "most_attempts": 11,
        "next_at": None,
        "ended_at": NOON,
        "status": 200,
        "took_ms": 14,
        "why": "",
        "replays": 0,
    }
    return DeliveryView(event_id=event_id, **(fields | known))

"""What we sign is taken by the published verifiers of Standard Webhooks, and nothing else is."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from clusterra.core.webhooks.sign import secret_from, signed_headers
from tests.verifiers.published import Request, by_node, by_python

NEW, OLD, STRANGE = (secret_from(bytes([each]) * 32) for each in (1, 2, 3))
PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(32))

BODIES = [
    b"{}",
    b'{"type":"job.completed"}',
    json.dumps({"name": "müller ✓ 日本語 🧬 \u202e", "quote": '"\\/'}, ensure_ascii=False).encode(),
    json.dumps({"name": "müller", "line": "a\r\nb"}, indent=2).encode() + b"\n",
    json.dumps({"log": "x" * 1_000_000}).encode(),
]

Verifier = Callable[[Sequence[Request]], list[str]]
pytestmark = pytest.mark.parametrize("found_wrong_by", [by_python, by_node])


def request(body: bytes, *secrets: str, secret: str = NEW, at: datetime | None = None) -> Request:
    moment = at or datetime.now(UTC)
    headers = signed_headers("0197-evt", moment, body, secrets or [NEW], PRIVATE.sign)
    return Request(secret=secret, headers=headers, body=body)


def test_requests_are_taken_whatever_is_in_them(found_wrong_by: Verifier) -> None:
    one_secret = [request(body) for body in BODIES]
    while_rotating = [
        request(body, NEW, OLD, secret=each) for body in BODIES for each in (NEW, OLD)
    ]
    without_prefix = [request(BODIES[2], secret=NEW.removeprefix("whsec_"))]
    here = datetime.now(UTC)
    zones = [
        request(BODIES[1], at=here.astimezone(timezone(timedelta(hours=hours))))
        for hours in (-11, 5.5, 14)
    ]

    sent = [*one_secret, *while_rotating, *without_prefix, *zones]

    assert found_wrong_by(sent) == [""] * len(sent)


def test_what_was_tampered_with_is_refused(found_wrong_by: Verifier) -> None:
    right = request(BODIES[2])
    tampered = [
        replace(right, body=right.body.replace(b"quote", b"quota")),
        replace(right, body=right.body + b" "),
        replace(right, headers={**right.headers, "webhook-id": "0197-other"}),
        replace(
            right,
            headers={
                **right.headers,
                "webhook-timestamp": str(int(right.headers["webhook-timestamp"]) - 1),
            },
        ),
        replace(right, secret=STRANGE),
        request(BODIES[2], at=datetime.now(UTC) - timedelta(hours=1)),
        request(BODIES[2], at=datetime.now(UTC) + timedelta(hours=1)),
        replace(right, headers={**right.headers, "webhook-signature": "v1,AAAA"}),
    ]

    assert all(found_wrong_by(tampered))

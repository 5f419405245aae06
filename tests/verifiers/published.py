"""Two verifiers that others wrote, behind one question: what is wrong with this request?"""

import base64
import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from tests.provider.node import node, script


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    secret: str
    headers: Mapping[str, str]
    body: bytes


def by_python(requests: Sequence[Request]) -> list[str]:
    """Return what PyPI's package finds wrong with each; empty if nothing."""
    return [_by_python(each) for each in requests]


def _by_python(request: Request) -> str:
    try:
        Webhook(request.secret).verify(request.body, dict(request.headers))
    except WebhookVerificationError as error:
        return str(error)
    return ""


def by_node(requests: Sequence[Request]) -> list[str]:
    """Return what npm's package finds wrong with each; empty if nothing."""
    try:
        command = [node().node, str(script("verifier", Path(__file__).parent))]
    except (RuntimeError, OSError) as error:
        why = str(error).partition("\n")[0]
        pytest.skip(f"npm's verifier needs Node and its packages, and they cannot be had: {why}")
    asked = [
        {
            "secret": each.secret,
            "headers": dict(each.headers),
            "body": base64.b64encode(each.body).decode(),
        }
        for each in requests
    ]
    done = subprocess.run(
        command, input=json.dumps(asked), capture_output=True, text=True, timeout=60, check=True
    )
    found: list[str] = json.loads(done.stdout)
    return found

"""What the guide says of signatures is so, and its programs run."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from clusterra.client.post import Post
from clusterra.core.events.ed25519 import is_signed
from clusterra.core.webhooks.retry import SCHEDULE
from clusterra.core.webhooks.sign import (
    mac,
    read_public,
    read_secret,
    signed_content,
    signed_headers,
)
from clusterra.core.webhooks.verify import explain
from tests.provider.node import node, script

PAGE = (Path(__file__).parents[2] / "docs/guides/webhooks.md").read_text()


def block(language: str, within: str) -> str:
    """Return the first code of a language after some words of the page."""
    _, found, after = PAGE.partition(within)
    assert found, within
    code = re.search(rf"^```{language}\n(.*?)^```", after, re.MULTILINE | re.DOTALL)
    assert code, within
    return code[1]


VECTORS: dict[str, Any] = json.loads(block("json", "### Test vectors"))
SECRET: str = VECTORS["secret"]
BODY = '{"type":"job.failed","subject":"job/41","data":{"name":"é"}}'.encode()


@pytest.mark.parametrize("vector", VECTORS["vectors"], ids=lambda each: each["id"])
def test_a_vector_is_what_we_sign(vector: dict[str, str]) -> None:
    import base64

    content = signed_content(vector["id"], str(VECTORS["timestamp"]), vector["body"].encode())
    for which in ("secret", "old_secret"):
        if which in vector:
            version, _, signature = vector[which].partition(",")
            assert version == "v1"
            assert base64.b64decode(signature) == mac(read_secret(VECTORS[which]), content)
    if "public_key" in vector:
        version, _, signature = vector["public_key"].partition(",")
        assert version == "v1a"
        public = read_public(VECTORS["public_key"])
        assert is_signed(content, base64.b64decode(signature), public)


def test_the_vectors_are_verified_as_a_request() -> None:
    vector = VECTORS["vectors"][-1]
    headers = {
        "webhook-id": vector["id"],
        "webhook-timestamp": str(VECTORS["timestamp"]),
        "webhook-signature": " ".join(
            vector[each] for each in ("secret", "old_secret", "public_key")
        ),
    }
    at = datetime.fromtimestamp(VECTORS["timestamp"], UTC)

    for key in ("secret", "old_secret", "public_key"):
        assert explain(headers, vector["body"].encode(), [VECTORS[key]], at).ok


def test_the_schedule_is_the_one_that_is_kept() -> None:
    words = {"s": 1, "m": 60, "h": 3600}
    said = PAGE[PAGE.index("some 76 hours:") : PAGE.index("each a fifth")]
    waits = [
        timedelta(seconds=int(number) * words[unit])
        for number, unit in re.findall(r"(\d+) ([smh])\b", said)
    ]

    assert (timedelta(0), *waits) == SCHEDULE
    assert round(sum(SCHEDULE, timedelta()) / timedelta(hours=1)) == 76


def request(body: bytes = BODY, secret: str = SECRET) -> dict[str, str]:
    return signed_headers("evt-1", datetime.now(UTC), body, [secret])


@contextmanager
def running(command: list[str], where: Path) -> Iterator[None]:
    environ = {**os.environ, "CLUSTERRA_WEBHOOK_SECRET": SECRET, "PYTHONUNBUFFERED": "1"}
    with (
        (where / "log").open("wb") as log,
        subprocess.Popen(command, env=environ, stdout=log, stderr=log) as process,
    ):
        try:
            yield
        finally:
            process.kill()


def answer(to: Post, headers: Mapping[str, str], body: bytes) -> int | None:
    """Return what a receiver answers, as soon as it listens."""
    until = time.monotonic() + 20
    while (posted := to.send(body, headers)).status is None and time.monotonic() < until:
        time.sleep(0.02)
    return posted.status


def python_command(source: str, where: Path) -> list[str]:
    file = where / "receiver.py"
    file.write_text(source)
    return [sys.executable, str(file)]


def node_command(source: str, where: Path) -> list[str]:
    try:
        packages = script("verifier", Path(__file__).parent).parent / "node_modules"
        executable = node().node
    except (RuntimeError, OSError) as error:
        why = str(error).partition("\n")[0]
        pytest.skip(f"The Node sample needs Node and a package, and they cannot be had: {why}")
    (where / "node_modules").symlink_to(packages)
    file = where / "receiver.mjs"
    file.write_text(source)
    return [executable, str(file)]


@pytest.mark.enable_socket
@pytest.mark.parametrize(
    ("language", "after", "command"),
    [("python", "Python (`pip", python_command), ("js", "Node (`npm", node_command)],
)
def test_a_sample_takes_what_is_signed_and_nothing_else(
    language: str, after: str, command: Callable[[str, Path], list[str]], tmp_path: Path
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    source = block(language, after).replace("3000", str(port))
    to = Post(str(port))

    with running(command(source, tmp_path), tmp_path):
        assert answer(to, request(), BODY) == 204, (tmp_path / "log").read_text()
        assert answer(to, request(), BODY + b" ") == 401
        assert answer(to, request(secret=VECTORS["old_secret"]), BODY) == 401
        assert answer(to, {}, BODY) == 401

    assert "job.failed job/41" in (tmp_path / "log").read_text()


@pytest.mark.skipif(
    not all(map(shutil.which, ("sh", "openssl", "base64", "od"))),
    reason="The shell sample needs openssl, base64 and od.",
)
def test_so_does_the_shell(tmp_path: Path) -> None:
    (tmp_path / "verify.sh").write_text(block("sh", "A shell, for a request"))
    (tmp_path / "body").write_bytes(BODY)

    def taken(headers: dict[str, str]) -> bool:
        said = [headers[f"webhook-{name}"] for name in ("id", "timestamp", "signature")]
        done = subprocess.run(
            ["sh", str(tmp_path / "verify.sh"), *said, str(tmp_path / "body")],
            env={**os.environ, "CLUSTERRA_WEBHOOK_SECRET": SECRET},
            capture_output=True,
            check=False,
        )
        return done.returncode == 0

    both = signed_headers("e", datetime.now(UTC), BODY, [VECTORS["old_secret"], SECRET])
    old = signed_headers("e", datetime.now(UTC) - timedelta(hours=1), BODY, [SECRET])
    assert taken(request())
    assert taken(both)
    assert not taken(old)
    assert not taken(request(b"other"))
    assert not taken(request(secret=VECTORS["old_secret"]))

"""A request that was kept, and why its signature is refused, without a server."""

import json
from datetime import timedelta
from pathlib import Path

import pytest

from clusterra.core.webhooks.sign import secret_from, signed_headers
from tests.cli.conftest import Terminal
from tests.cli.world import NOON, ManualWatch

SECRET, OTHER = secret_from(bytes(range(32))), secret_from(bytes(32))
BODY = '{"id":"e","type":"job.failed","data":{"name":"é"}}'.encode()


@pytest.fixture
def terminal() -> Terminal:
    return Terminal({})


@pytest.fixture
def request_of(tmp_path: Path) -> list[str]:
    """What names a request that is right, signed three seconds ago."""
    headers = signed_headers("e", NOON - timedelta(seconds=3), BODY, [SECRET])
    lines = "".join(f"{name.title()}: {value}\r\n" for name, value in headers.items())
    (tmp_path / "headers").write_text(f"POST /hook HTTP/1.1\r\nHost: x\r\n{lines}\r\n")
    (tmp_path / "body").write_bytes(BODY)
    return ["--headers", str(tmp_path / "headers"), "--body", str(tmp_path / "body")]


def test_a_right_one(terminal: Terminal, request_of: list[str]) -> None:
    told = terminal("webhooks", "verify", "--secret", SECRET, *request_of)

    assert told.exit_code == 0
    assert told.stdout == (
        f"✓ The signature is right: signed 3 s ago with the secret that ends in {SECRET[-5:-1]}.\n"
    )


def test_a_wrong_one_says_why_and_exits_with_3(terminal: Terminal, request_of: list[str]) -> None:
    told = terminal("webhooks", "verify", "--secret", OTHER, *request_of)
    as_json = terminal("webhooks", "verify", "--secret", OTHER, *request_of, "--json")

    assert (told.exit_code, as_json.exit_code) == (3, 3)
    assert told.stdout.startswith("✗ No signature fits.")
    assert len(told.stdout.splitlines()) == 2
    assert json.loads(as_json.stdout)["reason"] == "mismatch"


def test_the_secret_comes_from_a_file_or_the_environment(
    terminal: Terminal, request_of: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "secrets"
    file.write_text(f"{OTHER}\n{SECRET}\n")

    assert terminal("webhooks", "verify", "--secret-file", str(file), *request_of).exit_code == 0
    assert terminal("webhooks", "verify", *request_of).exit_code == 2
    terminal.environ["CLUSTERRA_WEBHOOK_SECRET"] = SECRET
    assert terminal("webhooks", "verify", *request_of).exit_code == 0


def test_an_old_request_can_be_verified_by_saying_so(
    terminal: Terminal, request_of: list[str]
) -> None:
    terminal.watch = ManualWatch(NOON + timedelta(days=2))

    refused = terminal("webhooks", "verify", "--secret", SECRET, *request_of)
    taken = terminal("webhooks", "verify", "--secret", SECRET, *request_of, "--tolerance", "3d")

    assert (refused.exit_code, taken.exit_code) == (3, 0)
    assert "172,803 seconds ago" in refused.stdout
    assert refused.stdout.splitlines()[-1] == "  A request that was kept:  add --tolerance 30d"


def test_a_whole_request_in_one_file_or_on_stdin_is_enough(
    terminal: Terminal, request_of: list[str], tmp_path: Path
) -> None:
    whole = tmp_path / "whole"
    whole.write_bytes((tmp_path / "headers").read_bytes() + BODY)

    secret = ("--secret", SECRET)
    assert terminal("webhooks", "verify", *secret, "--headers", str(whole)).exit_code == 0
    piped = terminal("webhooks", "verify", *secret, "--headers", "-", typed=whole.read_bytes())
    assert piped.exit_code == 0


def test_a_file_that_is_not_there_is_named(terminal: Terminal, tmp_path: Path) -> None:
    told = terminal(
        *("webhooks", "verify", "--secret", SECRET, "--headers", str(tmp_path / "none")),
        *("--body", "-"),
    )

    assert told.exit_code == 2
    assert "none cannot be read: No such file or directory." in told.stderr
    (tmp_path / "bare").write_text("webhook-id: e\n")
    bare = terminal("webhooks", "verify", "--secret", SECRET, "--headers", str(tmp_path / "bare"))
    assert "Give the body" in bare.stderr

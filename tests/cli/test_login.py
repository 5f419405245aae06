"""Signing in from a terminal, being somebody, and signing out."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Terminal
from tests.cli.signing import CODE, DENIED, EXPIRED, PENDING, SLOW_DOWN, Signing
from tests.cli.world import NOON, FakeApi, Hangup, me, problem

pytestmark = pytest.mark.enable_socket

ANA = "Linux user ana (20001), owner of The Lab"


@pytest.fixture
def signing(api: FakeApi) -> Signing:
    return Signing(api)


@pytest.fixture
def terminal(signing: Signing) -> Terminal:
    return Terminal({})


@pytest.fixture
def kept(home: Path) -> Path:
    return home / ".config" / "clusterra" / "credentials.json"


def test_login_shows_a_code_waits_and_says_who_one_is(
    terminal: Terminal, signing: Signing, api: FakeApi
) -> None:
    signing.first = [PENDING, PENDING]

    result = terminal("login", api.url)

    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "To let this terminal in, open this address in a browser, and compare the code:",
        f"  {api.url}/device?code={CODE}",
        f"Waiting for you to approve {CODE} at {api.url}/device",
        f"You are signed in at {api.url} as ana@lab.example: {ANA}.",
        "Next:  clusterra jobs list",
    ]
    assert (terminal.watch.at - NOON).total_seconds() == 15
    assert api.asked[0].body["agent"].startswith("clusterra on ")


def test_after_login_every_command_finds_the_server_and_the_session(
    terminal: Terminal, api: FakeApi
) -> None:
    terminal("login", f"{api.url}/")

    assert terminal("nodes", "list").exit_code == 0
    assert api.asked[-1].headers["authorization"] == "Bearer access-1"


def test_login_says_when_other_commands_would_go_elsewhere_or_as_somebody_else(
    terminal: Terminal, api: FakeApi, tmp_path: Path
) -> None:
    terminal.environ |= {"CLUSTERRA_URL": api.url, "CLUSTERRA_TOKEN": "clt_1"}
    assert "unset CLUSTERRA_TOKEN" in terminal("login").stdout.splitlines()[-1]

    (tmp_path / "run.json").write_text(json.dumps({"url": "http://127.0.0.1:1"}))
    (tmp_path / "token").write_text("of-another-server")
    terminal.environ = {"CLUSTERRA_STATE": str(tmp_path)}
    assert terminal("login", api.url).stdout.splitlines()[-1] == (
        f"Other commands use http://127.0.0.1:1. To use this one:  export CLUSTERRA_URL={api.url}"
    )


def test_a_server_that_finds_us_asking_too_often_is_asked_less_often(
    terminal: Terminal, signing: Signing, api: FakeApi
) -> None:
    signing.first = [SLOW_DOWN, PENDING]

    assert terminal("login", api.url).exit_code == 0
    assert (terminal.watch.at - NOON).total_seconds() == 5 + 10 + 10


def test_a_server_that_is_away_while_one_waits_is_waited_for(
    terminal: Terminal, signing: Signing, api: FakeApi
) -> None:
    signing.first = [problem(503, "unreachable", "Restarting."), PENDING]

    assert terminal("login", api.url).exit_code == 0


@pytest.mark.parametrize(
    ("told", "words"), [(DENIED, "was turned down"), (EXPIRED, "Nobody approved")]
)
def test_what_was_not_approved_stores_nothing(
    terminal: Terminal, signing: Signing, api: FakeApi, kept: Path, told: object, words: str
) -> None:
    signing.first = [told]  # type: ignore[list-item]

    result = terminal("login", api.url)

    assert result.exit_code == 3
    assert words in result.stderr
    assert "Nothing was stored." in result.stderr
    assert not kept.exists()


def test_a_code_nobody_looks_at_is_given_up_when_it_ends(
    terminal: Terminal, signing: Signing, api: FakeApi
) -> None:
    signing.first = [PENDING] * 200

    result = terminal("login", api.url)

    assert result.exit_code == 3
    assert f"Nobody approved {CODE} within 10m 00s." in result.stderr
    assert (terminal.watch.at - NOON).total_seconds() == 600


def test_ctrl_c_says_that_nothing_was_stored(terminal: Terminal, api: FakeApi, kept: Path) -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    terminal.watch.on_wait = stop
    result = terminal("login", api.url)

    assert result.exit_code == 130
    assert result.stderr == "Stopped waiting. You are not signed in; nothing was stored.\n"
    assert not kept.exists()


def test_a_browser_is_opened_only_where_it_is_asked_for(
    signing: Signing, api: FakeApi, tmp_path: Path
) -> None:
    signing.interval = 0
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {opened}\n')
    browser.chmod(0o755)
    environ = {"BROWSER": f"{browser} %s", "PYTHONPATH": os.pathsep.join(sys.path)}

    def sign_in(*words: str) -> None:
        command = [sys.executable, "-m", "clusterra", "login", api.url, *words]
        subprocess.run(command, env=os.environ | environ, check=True, capture_output=True)

    sign_in()
    assert not opened.exists()
    sign_in("--browser")
    assert opened.read_text() == f"{api.url}/device?code={CODE}"


def test_as_json_no_secret_is_printed(terminal: Terminal, api: FakeApi) -> None:
    result = terminal("login", api.url, "--json")

    asked, who = (json.loads(line) for line in result.stdout.splitlines())
    assert asked["user_code"] == CODE
    assert who["email"] == "ana@lab.example"
    assert not any(secret in result.output for secret in ("device-secret", "access-", "refresh-"))


def test_the_secrets_of_a_session_are_its_owners_only(
    terminal: Terminal, api: FakeApi, kept: Path
) -> None:
    terminal("login", api.url)

    assert kept.stat().st_mode & 0o777 == 0o600
    assert kept.parent.stat().st_mode & 0o777 == 0o700
    assert json.loads(kept.read_text())["sessions"][api.url]["access_token"] == "access-1"


def test_logout_ends_the_session_there_and_here(
    terminal: Terminal, signing: Signing, api: FakeApi, kept: Path
) -> None:
    signing.provider = "https://id.lab.example/logout"
    terminal("login", api.url)

    result = terminal("logout")

    assert result.stdout.splitlines() == [
        f"ana@lab.example is signed out of {api.url}.",
        "To sign out of your identity provider as well, open:",
        "  https://id.lab.example/logout",
    ]
    assert signing.signed_out == ["access-1"]
    assert "access-1" not in kept.read_text()
    assert terminal("whoami").exit_code == 5


def test_logout_refreshes_first_if_it_must(
    terminal: Terminal, signing: Signing, api: FakeApi
) -> None:
    terminal("login", api.url)
    signing.end_access()

    assert terminal("logout").exit_code == 0
    assert signing.signed_out == ["access-2"]


def test_logout_forgets_even_if_the_server_is_gone_and_says_so(
    terminal: Terminal, api: FakeApi, kept: Path
) -> None:
    def gone(_: object) -> object:
        raise Hangup

    terminal("login", api.url)
    api.routes["POST /v1/auth/logout"] = gone

    result = terminal("logout")

    assert result.exit_code == 0
    assert "The session of ana@lab.example is forgotten here, but the server could not be told" in (
        result.stderr
    )
    assert "access-1" not in kept.read_text()


def test_logout_of_a_session_that_had_ended_forgets_it(
    terminal: Terminal, signing: Signing, api: FakeApi, kept: Path
) -> None:
    terminal("login", api.url)
    signing.end_session()

    result = terminal("logout", api.url)

    assert result.exit_code == 0
    assert "had ended already" in result.stderr
    assert "access-1" not in kept.read_text()
    assert terminal("logout", api.url).stderr == f"You were not signed in at {api.url}.\n"


def test_whoami_tells_who_what_by_what_and_until_when(terminal: Terminal, api: FakeApi) -> None:
    terminal("login", api.url)

    told = terminal("whoami").stdout.splitlines()

    assert told[:3] == [
        f"ana@lab.example · Ana · at {api.url}",
        "  Linux user  ana (uid 20001)",
        "  workspaces  owner of The Lab",
    ]
    assert told[3].startswith("  let in by   your session, until 2026-06-1")
    assert json.loads(terminal("whoami", "--json").stdout)["uid"] == 20001


def test_whoami_tells_what_a_token_is_limited_to(terminal: Terminal, api: FakeApi) -> None:
    api.routes["GET /v1/users/me"] = lambda _: me(
        by="token", scopes=["read", "jobs"], expires_at=None
    )
    terminal.environ |= {"CLUSTERRA_URL": api.url, "CLUSTERRA_TOKEN": "clt_1"}

    assert terminal("whoami").stdout.splitlines()[-1] == (
        "  let in by   an API token for read, jobs"
    )

"""API tokens, sessions, and keys of a cluster, from the terminal."""

import json
from datetime import timedelta
from typing import Any

import pytest

from clusterra.core.access import Scope
from clusterra.wire.people import (
    KeyMade,
    KeyPage,
    KeyView,
    SessionPage,
    SessionView,
    TokenMade,
    TokenPage,
    TokenView,
)
from tests.cli.conftest import Terminal
from tests.cli.world import NOON, FakeApi, a_workspace, problem

pytestmark = pytest.mark.enable_socket

TOKENS = "/v1/users/me/tokens"


@pytest.fixture(autouse=True)
def in_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


def a_token(**known: Any) -> TokenView:
    fields: dict[str, Any] = {
        "id": "tok_1",
        "name": "nightly",
        "scopes": ["read", "jobs"],
        "workspace": None,
        "created_at": NOON,
        "created_by": "user:ana@lab.example",
        "expires_at": NOON + timedelta(days=90),
        "last_used_at": None,
    }
    return TokenView(**(fields | known))


def a_session(**known: Any) -> SessionView:
    fields: dict[str, Any] = {
        "id": "ses_1",
        "how": "device",
        "agent": "clusterra on login1",
        "address": "192.0.2.7",
        "since": NOON,
        "expires_at": NOON + timedelta(days=30),
        "current": True,
    }
    return SessionView(**(fields | known))


def a_key(**known: Any) -> KeyView:
    fields: dict[str, Any] = {
        "id": "key_1",
        "cluster": "clus1a2b",
        "name": "head",
        "use": "collector",
        "created_at": NOON,
        "created_by": "user:ana@lab.example",
        "last_used_at": NOON,
    }
    return KeyView(**(fields | known))


class TestTokens:
    def test_a_list_says_what_each_may_and_until_when(
        self, terminal: Terminal, api: FakeApi
    ) -> None:
        tokens = [
            a_token(),
            a_token(id="tok_2", name="ci", scopes=[*Scope], workspace="lab", expires_at=None),
            a_token(id="tok_3", name="old", expires_at=NOON, last_used_at=NOON),
        ]
        api.routes[f"GET {TOKENS}"] = lambda _: TokenPage(tokens=tokens, total=3)

        assert terminal("tokens", "list").stdout.splitlines() == [
            "  ID     NAME     MAY         WORKSPACE  UNTIL       LAST USED",
            "  tok_1  nightly  read, jobs  all        2026-08-12  never",
            "  tok_2  ci       everything  lab        no end      never",
            "  tok_3  old      read, jobs  all        ended       0 s ago",
            "3 tokens · end one: clusterra tokens revoke tok_1",
        ]

    def test_an_id_is_never_cut_and_when_it_was_used_still_has_room(
        self, terminal: Terminal, api: FakeApi
    ) -> None:
        id = "tok_01a1e302f019734ab1fe571a0b38ff8e"
        token = a_token(id=id, name="of-the-night-shift", workspace="clusterra", last_used_at=NOON)
        api.routes[f"GET {TOKENS}"] = lambda _: TokenPage(tokens=[token], total=1)

        line = terminal("tokens", "list").stdout.splitlines()[1]

        assert line.startswith(f"  {id}  ")
        assert line.endswith("0 s ago")

    def test_none_says_how_to_make_one(self, terminal: Terminal, api: FakeApi) -> None:
        api.routes[f"GET {TOKENS}"] = lambda _: TokenPage(tokens=[], total=0)

        assert "clusterra tokens create" in terminal("tokens", "list").stdout

    def test_only_the_token_is_on_stdout(self, terminal: Terminal, api: FakeApi) -> None:
        api.routes[f"POST {TOKENS}"] = lambda _: TokenMade(token="clt_1", info=a_token())

        result = terminal("tokens", "create", "nightly", "--scope", "read", "--scope", "jobs")

        assert result.stdout == "clt_1\n"
        assert result.stderr == (
            "The token nightly (tok_1) may: read, jobs; it works until 2026-08-12 12:00:00. "
            "It is shown once:\n"
        )
        assert api.asked[-1].body == {
            "name": "nightly",
            "scopes": ["read", "jobs"],
            "days": 90,
            "workspace": None,
        }

    @pytest.mark.parametrize(
        ("words", "days"), [((), 90), (("--days", "7"), 7), (("--forever",), None)]
    )
    def test_it_ends_unless_it_is_meant_for_ever(
        self, terminal: Terminal, api: FakeApi, words: tuple[str, ...], days: int | None
    ) -> None:
        made = TokenMade(token="clt_1", info=a_token(expires_at=None))
        api.routes[f"POST {TOKENS}"] = lambda _: made

        assert "until it is revoked" in terminal("tokens", "create", "n", *words).stderr
        assert api.asked[-1].body["days"] == days

    def test_it_can_be_kept_to_one_workspace(self, terminal: Terminal, api: FakeApi) -> None:
        api.workspaces = [a_workspace(), a_workspace("field", name="Field work")]
        api.routes[f"POST {TOKENS}"] = lambda _: TokenMade(token="clt_1", info=a_token())

        terminal("tokens", "create", "n", "--workspace", "Field work")

        assert api.asked[-1].body["workspace"] == "field"

    @pytest.mark.parametrize(
        "words", [("--scope", "all"), ("--days", "0"), ("--days", "5", "--forever")]
    )
    def test_a_wrong_wish_is_two(
        self, terminal: Terminal, api: FakeApi, words: tuple[str, ...]
    ) -> None:
        assert terminal("tokens", "create", "n", *words).exit_code == 2
        assert api.asked == []

    def test_a_revoked_one_is_named(self, terminal: Terminal, api: FakeApi) -> None:
        api.routes[f"DELETE {TOKENS}/tok_1"] = lambda _: a_token()
        api.routes[f"DELETE {TOKENS}/tok_9"] = lambda _: problem(
            404, "not-found", "You have no token tok_9."
        )

        assert terminal("tokens", "revoke", "tok_1").stdout == (
            "The token nightly (tok_1) is revoked.\n"
        )
        assert terminal("tokens", "revoke", "tok_9").exit_code == 4


class TestSessions:
    def test_a_list_marks_the_one_in_use(self, terminal: Terminal, api: FakeApi) -> None:
        found = [
            a_session(),
            a_session(id="ses_2", how="oidc", agent="Firefox", current=False),
        ]
        api.routes["GET /v1/users/me/sessions"] = lambda _: SessionPage(sessions=found, total=2)

        assert terminal("sessions", "list").stdout.splitlines() == [
            "  ID     FROM       SIGNED IN  UNTIL",
            "  ses_1  192.0.2.7  0 s ago    2026-06-13  this one · clusterra on login1 · a terminal",
            "  ses_2  192.0.2.7  0 s ago    2026-06-13  Firefox · by the provider",
            "2 sessions · end one: clusterra sessions end ses_2",
        ]

    def test_an_ended_one_is_named(self, terminal: Terminal, api: FakeApi) -> None:
        api.routes["DELETE /v1/users/me/sessions/ses_1"] = lambda _: a_session()

        assert terminal("sessions", "end", "ses_1").stdout == (
            "The session ses_1 (clusterra on login1) has ended.\n"
        )


class TestKeys:
    def test_a_list_says_whether_they_are_used(self, terminal: Terminal, api: FakeApi) -> None:
        found = [a_key(), a_key(id="key_2", name="", last_used_at=None)]
        api.routes["GET keys"] = lambda _: KeyPage(keys=found, total=2)

        assert terminal("keys", "list").stdout.splitlines() == [
            "  ID     FOR        NAME  MADE        BY               LAST USED",
            "  key_1  collector  head  2026-05-14  ana@lab.example  0 s ago",
            "  key_2  collector  –     2026-05-14  ana@lab.example  never",
            "2 keys · end one: clusterra keys revoke key_1",
        ]

    def test_only_the_key_is_on_stdout(self, terminal: Terminal, api: FakeApi) -> None:
        api.routes["POST keys"] = lambda _: KeyMade(key="clk_1", info=a_key())

        result = terminal("keys", "create", "--name", "head", "--cluster", "dev")

        assert result.stdout == "clk_1\n"
        assert "The key head (key_1) of the cluster clus1a2b is shown once." in result.stderr
        assert api.asked[-1].path == "/v1/clusters/clus1a2b/keys"
        assert api.asked[-1].body == {"name": "head", "use": "collector"}
        assert json.loads(terminal("keys", "create", "--json").stdout)["key"] == "clk_1"

    def test_a_revoked_one_is_named(self, terminal: Terminal, api: FakeApi) -> None:
        api.routes["DELETE keys/key_1"] = lambda _: a_key()

        assert terminal("keys", "revoke", "key_1").stdout == (
            "The key head (key_1) of the cluster clus1a2b is revoked.\n"
        )

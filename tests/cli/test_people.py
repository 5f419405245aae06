"""Who is in a workspace, from the terminal."""

import json
from datetime import timedelta

import pytest

from clusterra.cli.screen import Screen
from clusterra.wire.people import Invited, LinkMade, PeoplePage, PersonView, Removed
from tests.cli.conftest import Terminal
from tests.cli.world import NOON, FakeApi, a_person, a_workspace, me, problem

pytestmark = pytest.mark.enable_socket

LINK = "http://127.0.0.1:8420/sign-in#code=abc"
PEOPLE = "/v1/workspaces/lab/people"


@pytest.fixture(autouse=True)
def in_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


def test_a_list_says_who_what_and_when_they_were_last_seen(
    terminal: Terminal, api: FakeApi
) -> None:
    people = [
        a_person("ana@lab.example", role="owner", login="ana", uid=20001, name="Ana"),
        a_person(),
        a_person("cy@lab.example", login="cy", signed_in=False, last_seen_at=None, name=""),
    ]
    api.routes[f"GET {PEOPLE}"] = lambda _: PeoplePage(people=people, total=3)

    assert terminal("people", "list").stdout.splitlines() == [
        "  E-MAIL           ROLE    LINUX USER    UID  SINCE       LAST SEEN   NAME",
        "  ana@lab.example  owner   ana         20001  2026-05-11  1h 00m ago  Ana",
        "  ben@lab.example  member  ben         20002  2026-05-11  1h 00m ago  Ben",
        "  cy@lab.example   member  cy          20002  2026-05-11  never",
        "3 people in The Lab · more: clusterra people invite EMAIL",
    ]


def test_an_invitation_prints_the_link_alone_on_a_line(terminal: Terminal, api: FakeApi) -> None:
    ends = NOON + timedelta(hours=24)
    api.routes[f"POST {PEOPLE}"] = lambda _: Invited(person=a_person(), url=LINK, expires_at=ends)

    told = terminal("people", "invite", "ben@lab.example", "--valid", "24h", "--login", "ben")

    assert told.stdout.splitlines() == [
        "ben@lab.example is invited to The Lab as member (Linux user ben, uid 20002).",
        LINK,
        "They sign in there; it works once, until 2026-05-15 12:00:00.",
    ]
    assert api.asked[-1].body == {
        "email": "ben@lab.example",
        "role": "member",
        "login": "ben",
        "token": False,
        "minutes": 1440,
    }


def test_where_there_is_a_provider_an_invitation_says_where_to_sign_in(
    terminal: Terminal, api: FakeApi
) -> None:
    api.routes[f"POST {PEOPLE}"] = lambda _: Invited(person=a_person(), url="https://head.example")

    told = terminal("people", "invite", "ben@lab.example", "--role", "viewer").stdout.splitlines()

    assert told[1:] == ["https://head.example", "They sign in there, with that e-mail address."]
    assert api.asked[-1].body["role"] == "viewer"


def test_an_invitation_for_a_script_prints_only_the_token_on_stdout(
    terminal: Terminal, api: FakeApi
) -> None:
    api.routes[f"POST {PEOPLE}"] = lambda _: Invited(person=a_person(), token="clt_1")

    result = terminal("people", "invite", "ben@lab.example", "--token")

    assert result.stdout == "clt_1\n"
    assert "ben@lab.example is invited to The Lab as member" in result.stderr
    assert api.asked[-1].body["token"] is True


def test_an_invitation_as_json_has_link_or_token_at_the_top(
    terminal: Terminal, api: FakeApi
) -> None:
    api.routes[f"POST {PEOPLE}"] = lambda asked: (
        Invited(person=a_person(), token="clt_1")
        if asked.body["token"]
        else Invited(person=a_person(), url=LINK)
    )

    words = ("people", "invite", "ben@lab.example", "--json")
    assert json.loads(terminal(*words).stdout)["url"] == LINK
    assert json.loads(terminal(*words, "--token").stdout)["token"] == "clt_1"


@pytest.mark.parametrize(
    "words",
    [("--role", "king"), ("--valid", "soon"), ("--token", "--valid", "2h")],
)
def test_a_wrong_invitation_is_refused_before_anybody_is_asked(
    terminal: Terminal, api: FakeApi, words: tuple[str, ...]
) -> None:
    assert terminal("people", "invite", "ben@lab.example", *words).exit_code == 2
    assert api.asked == []


def test_a_link_of_ones_own_is_alone_on_stdout(terminal: Terminal, api: FakeApi) -> None:
    ends = NOON + timedelta(minutes=10)
    api.routes["POST /v1/users/me/link"] = lambda _: LinkMade(url=LINK, expires_at=ends)

    result = terminal("people", "link")

    assert result.stdout == f"{LINK}\n"
    assert result.stderr == "It signs you in, once, until 12:10:00.\n"
    assert json.loads(terminal("people", "link", "--json").stdout)["url"] == LINK


def test_a_role_is_changed_by_e_mail(terminal: Terminal, api: FakeApi) -> None:
    def change(asked: object) -> PersonView:
        return a_person(role="admin")

    api.routes[f"PATCH {PEOPLE}/ben@lab.example"] = change

    told = terminal("people", "role", "ben@lab.example", "admin").stdout

    assert told == "ben@lab.example is now admin of The Lab.\n"
    assert api.asked[-1].body == {"role": "admin"}


class TestRemoving:
    @pytest.fixture(autouse=True)
    def route(self, api: FakeApi) -> None:
        gone = Removed(person=a_person(), live_jobs=2)
        api.routes[f"DELETE {PEOPLE}/ben@lab.example"] = lambda _: gone

    def test_it_tells_that_their_jobs_go_on(self, terminal: Terminal) -> None:
        assert terminal("people", "remove", "ben@lab.example", "--yes").stdout.splitlines() == [
            "ben@lab.example is no longer in The Lab.",
            "2 jobs of theirs go on. To end them: clusterra jobs cancel --query user:ben",
        ]

    def test_a_script_has_to_say_yes(self, terminal: Terminal, api: FakeApi) -> None:
        result = terminal("people", "remove", "ben@lab.example")

        assert result.exit_code == 3
        assert "Nobody was removed. To remove them, add --yes." in result.stderr
        assert not any(asked.method == "DELETE" for asked in api.asked)

    @pytest.mark.parametrize(("typed", "removed"), [("y\n", True), ("n\n", False), ("", False)])
    def test_a_person_is_asked(
        self,
        terminal: Terminal,
        api: FakeApi,
        monkeypatch: pytest.MonkeyPatch,
        typed: str,
        removed: bool,
    ) -> None:
        terminal.screen = Screen(live=True, colour=False)
        monkeypatch.setattr("clusterra.cli.agree.is_typed", lambda: True)

        told = terminal("people", "remove", "ben@lab.example", typed=typed).stdout

        assert "ben@lab.example would lose access to The Lab" in told
        assert ("no longer in" in told) == removed
        assert ("Nobody was removed." in told) != removed


class TestLeaving:
    def test_it_tells_that_ones_jobs_go_on(self, terminal: Terminal, api: FakeApi) -> None:
        gone = Removed(person=a_person(), live_jobs=2)
        api.routes["DELETE /v1/users/me/workspaces/lab"] = lambda _: gone

        left = terminal("workspaces", "leave", "--yes")

        assert left.stdout == "You are no longer in The Lab; 2 jobs of yours go on.\n"

    def test_nobody_leaves_without_meaning_to(self, terminal: Terminal, api: FakeApi) -> None:
        refused = terminal("workspaces", "leave")

        assert "You are still in it. To leave it, add --yes." in refused.stderr
        assert [each for each in api.asked if each.method == "DELETE"] == []


class TestWhichWorkspace:
    @pytest.fixture(autouse=True)
    def two(self, api: FakeApi) -> None:
        api.workspaces = [a_workspace(), a_workspace("field", name="Field work")]
        nobody = PeoplePage(people=[], total=0)
        api.routes["GET /v1/workspaces/field/people"] = lambda _: nobody

    def test_by_option_or_variable_by_id_or_name(self, terminal: Terminal) -> None:
        assert terminal("people", "list", "--workspace", "field").exit_code == 0
        assert terminal("people", "list", "--workspace", "Field work").exit_code == 0
        terminal.environ["CLUSTERRA_WORKSPACE"] = "field"
        assert terminal("people", "list").exit_code == 0

    def test_several_are_listed_when_none_is_named(self, terminal: Terminal) -> None:
        result = terminal("people", "list")

        assert result.exit_code == 2
        assert result.stderr.splitlines() == [
            "You are in 2 workspaces: lab (The Lab), field (Field work).",
            "Say which with --workspace, or once with: export CLUSTERRA_WORKSPACE=lab",
        ]

    def test_an_unknown_one_is_four(self, terminal: Terminal) -> None:
        result = terminal("people", "list", "--workspace", "mars")

        assert result.exit_code == 4
        assert "You are in no workspace 'mars'." in result.stderr

    def test_two_of_one_name_want_an_id(self, terminal: Terminal, api: FakeApi) -> None:
        api.workspaces = [a_workspace("a"), a_workspace("b")]

        assert "Use an id: a, b." in terminal("people", "list", "--workspace", "The Lab").stderr

    def test_none_at_all_says_whom_to_ask(self, terminal: Terminal, api: FakeApi) -> None:
        api.workspaces = []

        result = terminal("people", "list")

        assert result.exit_code == 4
        assert "invite you" in result.stderr


def test_a_refusal_is_told_in_the_servers_words(terminal: Terminal, api: FakeApi) -> None:
    api.routes[f"POST {PEOPLE}"] = lambda _: problem(
        403, "forbidden", "A member may not invite people.", "Ask an admin.", kind="forbidden"
    )

    result = terminal("people", "invite", "ben@lab.example", "--json")

    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr == "A member may not invite people.\nAsk an admin.\n"


def test_names_that_would_move_the_cursor_are_tamed(terminal: Terminal, api: FakeApi) -> None:
    evil = "\x1b[2J"
    api.routes["GET /v1/users/me"] = lambda _: me(name=evil, workspaces=[a_workspace(name=evil)])
    people = PeoplePage(people=[a_person(name=evil)], total=1)
    api.routes[f"GET {PEOPLE}"] = lambda _: people

    assert evil not in terminal("whoami").stdout + terminal("people", "list").stdout

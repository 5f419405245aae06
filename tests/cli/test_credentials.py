"""A session between commands: refreshed once, by one, and sent to its own server only."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from clusterra.client.client import Client
from clusterra.client.connection import Connection
from clusterra.client.credentials import Credentials, KeptSession, Signed, signed
from clusterra.client.find import credentials_file, find_server
from clusterra.core.errors import Invalid, NotFound, Refused, Unauthenticated, Unreachable
from clusterra.wire.people import SignedIn
from tests.cli.conftest import Terminal
from tests.cli.signing import Signing
from tests.cli.test_events import LIFE as EVENTS
from tests.cli.test_events import frame, stream
from tests.cli.world import NOON, Answer, FakeApi, ManualWatch, problem

pytestmark = pytest.mark.enable_socket

TENS = 10


@pytest.fixture
def signing(api: FakeApi) -> Signing:
    return Signing(api)


@pytest.fixture
def kept(tmp_path: Path) -> Credentials:
    return Credentials(tmp_path / "config" / "clusterra" / "credentials.json")


@pytest.fixture
def watch() -> ManualWatch:
    return ManualWatch()


def a_session(**known: str) -> Signed:
    fields = {"email": "ana@lab.example", "access_token": "a", "refresh_token": "r"} | known
    return Signed(ends_at=NOON + timedelta(minutes=15), **fields)


@pytest.fixture
def client(
    api: FakeApi, signing: Signing, kept: Credentials, watch: ManualWatch
) -> Iterator[Client]:
    kept.keep(api.url, signed(signing.sign_in(), now=NOON))
    with Client(Connection(api.url, token=KeptSession(api.url, kept, watch.now))) as client:
        yield client


def sent(api: FakeApi) -> list[tuple[str, str]]:
    return [(each.path, each.headers.get("authorization", "")) for each in api.asked]


def test_a_token_is_refreshed_when_it_ends_and_not_before(
    api: FakeApi, signing: Signing, client: Client, watch: ManualWatch
) -> None:
    watch.wait(900 - 11)
    client.clusters()
    assert signing.refreshed == 0

    watch.wait(1)
    client.clusters()
    assert sent(api)[1:] == [("/v1/auth/refresh", ""), ("/v1/clusters", "Bearer access-2")]


def test_a_token_that_the_server_finds_ended_is_refreshed_once_and_the_request_repeated(
    api: FakeApi, signing: Signing, client: Client
) -> None:
    signing.end_access()

    assert client.cancel("clus1a2b", 41).job_id == 41
    assert sent(api) == [
        ("/v1/clusters/clus1a2b/jobs/41", "Bearer access-1"),
        ("/v1/auth/refresh", ""),
        ("/v1/clusters/clus1a2b/jobs/41", "Bearer access-2"),
    ]


def test_a_server_that_finds_every_token_ended_is_not_asked_for_ever(
    api: FakeApi, signing: Signing, client: Client
) -> None:
    api.routes["GET nodes"] = lambda _: problem(
        401, "token-expired", "It has ended.", kind="unauthenticated"
    )

    with pytest.raises(Unauthenticated, match="It has ended"):
        client.nodes("clus1a2b")
    assert signing.refreshed == 1


def test_another_refusal_is_not_answered_by_refreshing(
    api: FakeApi, signing: Signing, client: Client
) -> None:
    api.tokens.clear()

    with pytest.raises(Unauthenticated, match="not known here"):
        client.clusters()
    assert signing.refreshed == 0


def test_a_refused_refresh_says_how_to_sign_in_again_and_is_not_tried_twice(
    api: FakeApi, signing: Signing, client: Client, kept: Credentials
) -> None:
    signing.end_session()

    for _ in range(2):
        with pytest.raises(Unauthenticated) as caught:
            client.clusters()
        assert caught.value.detail == f"Your session at {api.url} has ended."
        assert "clusterra login" in caught.value.hint
    assert signing.refreshed == 1
    assert kept.at(api.url) is None
    assert kept.last() == api.url


@pytest.mark.parametrize(
    "answer",
    [problem(503, "unreachable", "Restarting."), Answer(404, b"<html>proxy</html>", "text/html")],
)
def test_a_server_that_is_away_does_not_end_a_session(
    api: FakeApi, signing: Signing, client: Client, answer: Answer
) -> None:
    signing.end_access()
    refresh = api.routes.pop("POST /v1/auth/refresh")
    api.routes["POST /v1/auth/refresh"] = lambda _: answer

    with pytest.raises((Unreachable, NotFound)):
        client.clusters()

    api.routes["POST /v1/auth/refresh"] = refresh
    assert client.clusters().total == 1


def test_a_refresh_token_that_was_lost_on_the_way_is_not_shown_again(
    api: FakeApi, signing: Signing, client: Client, watch: ManualWatch
) -> None:
    signing.end_access()
    api.tokens.add("access-9")
    api.routes["POST /v1/auth/refresh"] = lambda _: SignedIn(
        email="ana@lab.example", expires_in=900, access_token="access-9"
    )

    assert client.clusters().total == 1
    watch.wait(900)
    with pytest.raises(Unauthenticated, match="has ended"):
        client.clusters()
    assert [path for path, _ in sent(api)].count("/v1/auth/refresh") == 1


def test_a_stream_that_is_connected_again_brings_a_fresh_token(
    api: FakeApi, signing: Signing, client: Client
) -> None:
    api.routes["GET events/stream"] = lambda _: stream(frame(EVENTS[0]))
    list(client.follow("clus1a2b"))
    signing.end_access()

    assert [told.type for told in client.follow("clus1a2b") if told.type] == ["job.submitted"]
    assert sent(api)[-1][1] == "Bearer access-2"


def test_connections_at_the_same_moment_refresh_once_for_all(
    api: FakeApi, signing: Signing, client: Client, kept: Credentials, watch: ManualWatch
) -> None:
    signing.end_access()
    ready = threading.Barrier(TENS)
    failed: list[Exception] = []

    def ask() -> None:
        mine = KeptSession(api.url, Credentials(kept.file), watch.now)
        mine.token()
        ready.wait()
        try:
            with Client(Connection(api.url, token=mine)) as each:
                each.clusters()
        except Exception as error:  # noqa: BLE001 - told below
            failed.append(error)

    threads = [threading.Thread(target=ask) for _ in range(TENS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failed == []
    assert signing.refreshed == 1


def test_commands_at_the_same_moment_refresh_once_for_all(
    api: FakeApi, signing: Signing, tmp_path: Path
) -> None:
    environ = {"XDG_CONFIG_HOME": str(tmp_path), "CLUSTERRA_URL": api.url}
    kept = Credentials(credentials_file(environ))
    kept.keep(api.url, signed(signing.sign_in(), now=NOON - timedelta(days=400)))

    search = {"PYTHONPATH": os.pathsep.join(sys.path)}
    commands = [
        subprocess.Popen(
            [sys.executable, "-m", "clusterra", "whoami"],
            env=os.environ | environ | search,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for _ in range(4)
    ]
    told = [command.communicate(timeout=60)[0] for command in commands]

    assert [command.returncode for command in commands] == [0] * 4, told
    assert signing.refreshed == 1


def test_a_session_goes_only_to_the_address_it_was_signed_in_at(home: Path, tmp_path: Path) -> None:
    Credentials(credentials_file({})).keep("https://head.example", a_session())

    def token(url: str) -> object:
        found = find_server({"CLUSTERRA_STATE": str(tmp_path)}, url=url).token
        return found if isinstance(found, str) else found.token()

    watch = ManualWatch()
    mine = find_server({}, url="https://head.example/", now=watch.now).token
    assert isinstance(mine, KeptSession)
    assert mine.token() == "a"
    assert token("http://head.example") == ""
    assert token("https://head.example:8420") == ""
    assert token("https://head.example.evil") == ""
    assert token("https://head.example/below") == ""


def test_tokens_that_were_named_come_before_a_session_and_it_before_a_state_directory(
    api: FakeApi, tmp_path: Path, home: Path
) -> None:
    url = "http://127.0.0.1:8420"
    state = tmp_path / "state"
    state.mkdir()
    (state / "run.json").write_text(json.dumps({"url": url, "cluster": "clus1a2b"}))
    (state / "token").write_text("of-the-state")
    (tmp_path / "typed").write_text("typed")
    here = {"CLUSTERRA_STATE": str(state)}
    assert find_server(here).token == "of-the-state"

    Credentials(credentials_file({})).keep(url, a_session())
    there = {"CLUSTERRA_URL": url, "CLUSTERRA_TOKEN": "of-the-variable"}
    assert find_server(here | there, token_file=tmp_path / "typed").token == "typed"
    assert find_server(here | there).token == "of-the-variable"
    assert isinstance(find_server(here).token, KeptSession)
    assert find_server(here).cluster == "clus1a2b"


def test_the_server_signed_in_to_last_is_meant_when_nothing_runs_here(
    home: Path, tmp_path: Path
) -> None:
    kept = Credentials(credentials_file({}))
    kept.keep("http://one:1", a_session())
    kept.keep("http://two:2/", a_session())

    assert find_server({}).url == "http://two:2"
    assert find_server({"CLUSTERRA_URL": "http://one:1"}).url == "http://one:1"
    with pytest.raises(Unreachable, match="No Clusterra runs from"):
        find_server({}, state=tmp_path)

    kept.forget("http://two:2")
    with pytest.raises(Unreachable, match="No Clusterra runs from"):
        find_server({})
    assert kept.at("http://one:1") is not None


def test_a_session_that_ended_is_said_and_not_asked_for_without_a_token(home: Path) -> None:
    kept = Credentials(credentials_file({}))
    kept.keep("http://one:1", a_session())
    with kept.locked():
        kept.drop("http://one:1")

    with pytest.raises(Unauthenticated, match="You are not signed in at http://one:1"):
        find_server({})


def test_a_file_that_others_could_read_is_tightened_with_a_word(
    kept: Credentials, capsys: pytest.CaptureFixture[str]
) -> None:
    kept.keep("http://one:1", a_session())
    kept.file.chmod(0o644)
    kept.file.parent.chmod(0o755)

    assert kept.at("http://one:1") == a_session()
    assert kept.file.stat().st_mode & 0o777 == 0o600
    assert capsys.readouterr().err == f"{kept.file} could be read by others; now only you can.\n"
    kept.at("http://one:1")
    assert capsys.readouterr().err == ""

    kept.keep("http://two:2", a_session())
    assert kept.file.parent.stat().st_mode & 0o777 == 0o700


def test_a_file_of_somebody_elses_making_is_said_without_showing_it(kept: Credentials) -> None:
    kept.file.parent.mkdir(parents=True)
    kept.file.write_text('{"sessions": "secret"}')

    with pytest.raises(Invalid) as caught:
        kept.at("http://one:1")
    assert f"rm {kept.file}" in caught.value.hint
    assert "secret" not in caught.value.detail + caught.value.hint


def test_a_directory_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(Refused, match="cannot be written: File exists"):
        Credentials(tmp_path / "file" / "clusterra" / "c.json").keep("http://one:1", a_session())


def test_a_writing_that_is_cut_off_leaves_the_sessions_as_they_were(kept: Credentials) -> None:
    kept.keep("http://one:1", a_session())
    kept.file.with_suffix(".new").write_text('{"last": "http://on')

    assert kept.at("http://one:1") == a_session()
    kept.keep("http://one:1", a_session(access_token="b"))
    assert kept.at("http://one:1") == a_session(access_token="b")


def test_the_events_of_a_signed_in_person_are_followed_over_the_end_of_a_token(
    api: FakeApi, signing: Signing, home: Path
) -> None:
    terminal = Terminal({})
    terminal("login", api.url)
    answers = [stream(frame(EVENTS[0])), stream(frame(EVENTS[1]))]

    def pause() -> None:
        signing.end_access()
        if not answers:
            raise KeyboardInterrupt

    api.routes["GET events/stream"] = lambda _: answers.pop(0)
    terminal.watch.on_wait = pause
    told = terminal("events", "follow", "--after", "6").stdout

    assert "submitted align" in told
    assert "waits" in told
    assert signing.refreshed == 1

"""Events handed to a program that is being written, as a webhook would hand them."""

import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from clusterra.core.events.catalogue import jobs as facts
from clusterra.core.webhooks.sign import secret_from
from clusterra.core.webhooks.verify import explain
from clusterra.wire.webhooks import EventTriggered
from tests.cli.conftest import Terminal
from tests.cli.hooks import HOOKS, REFUSED, a_trial
from tests.cli.test_events import ABOUT, LIFE, body, frame, in_turn, stream
from tests.cli.test_watch import Rounds
from tests.cli.world import NOON, FakeApi, Hangup, problem
from tests.receiver import Receiver, listening

pytestmark = pytest.mark.enable_socket

SECRET, OTHER = secret_from(bytes(range(32))), secret_from(bytes(32))


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with listening(Receiver(answer=b"thanks")) as running:
        yield running


@pytest.fixture
def closed_port() -> str:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return str(taken.getsockname()[1])


def test_each_event_arrives_as_it_is_in_the_ledger_and_signed(
    terminal: Terminal, api: FakeApi, receiver: Receiver
) -> None:
    api.routes["GET events/stream"] = in_turn(stream(*map(frame, LIFE)))
    Rounds(terminal, 1)
    to = receiver.url("/hooks?from=here")

    told = terminal(
        *("events", "listen", "--forward", to, "--types", "job.*", "--secret", SECRET)
    ).stdout.splitlines()

    assert [each.body for each in receiver.got] == LIFE
    for sent in receiver.got:
        assert sent.path == "/hooks?from=here"
        assert sent.id == sent.json["id"]
        assert sent.headers["content-type"] == "application/cloudevents+json; charset=utf-8"
        assert explain(sent.headers, sent.body, [SECRET], NOON).ok
    assert api.asked[-1].query == {"type": "job.*"}
    assert told[0] == f"Passing job.* that happens on clus1a2b to {to}; Ctrl-C ends it."
    assert len(told) == 5
    assert re.fullmatch(r"✓ job\.started +job/41 +200 OK in \d+ ms", told[3])


def test_without_a_secret_one_is_made_and_shown(
    terminal: Terminal, api: FakeApi, receiver: Receiver
) -> None:
    api.routes["GET events/stream"] = in_turn(stream(frame(LIFE[0])))
    Rounds(terminal, 1)

    told = terminal("events", "listen", "--forward", receiver.url("")).stdout

    made = re.search(r"whsec_\S+", told)
    assert made
    [sent] = receiver.got
    assert explain(sent.headers, sent.body, [made[0]], NOON).ok
    assert f"export CLUSTERRA_WEBHOOK_SECRET={made[0]}" in told


def test_the_secret_of_the_environment_or_of_a_file_is_used(
    terminal: Terminal, api: FakeApi, receiver: Receiver, tmp_path: Path
) -> None:
    file = tmp_path / "secret"
    file.write_text(f"{SECRET}\n{OTHER}\n")
    terminal.environ["CLUSTERRA_WEBHOOK_SECRET"] = OTHER
    for words in ((), ("--secret-file", str(file))):
        api.routes["GET events/stream"] = in_turn(stream(frame(LIFE[0])))
        Rounds(terminal, 1)
        assert (
            "whsec_"
            not in terminal("events", "listen", "--forward", receiver.url(""), *words).stdout
        )

    good = [
        [explain(sent.headers, sent.body, [secret], NOON).ok for secret in (OTHER, SECRET)]
        for sent in receiver.got
    ]
    assert good == [[True, False], [True, True]]


def test_a_program_that_is_away_or_refuses_is_told_and_listening_goes_on(
    terminal: Terminal, api: FakeApi, receiver: Receiver, closed_port: str
) -> None:
    receiver.status, receiver.answer = 500, b"KeyError: 'data'\nmore"
    for to, words in (
        (receiver.url(""), r"500 Internal Server Error in \d+ ms: KeyError: 'data'"),
        (closed_port, "nobody listens there"),
    ):
        api.routes["GET events/stream"] = in_turn(stream(*map(frame, LIFE[:2])))
        Rounds(terminal, 1)
        told = terminal("events", "listen", "--forward", to, "--secret", SECRET)
        lines = told.stdout.splitlines()[1:]
        assert len(lines) == 2
        assert re.fullmatch(rf"✗ job\.submitted +job/41 +{words}", lines[0])


def test_a_server_that_comes_back_is_gone_on_with_where_it_was(
    terminal: Terminal, api: FakeApi, receiver: Receiver
) -> None:
    api.routes["GET events/stream"] = in_turn(
        stream(frame(LIFE[0])), Hangup, stream(frame(LIFE[1]))
    )
    Rounds(terminal, 3)

    terminal("events", "listen", "--forward", receiver.url(""), "--secret", SECRET)

    assert [each.body for each in receiver.got] == LIFE[:2]
    assert [asked.query.get("after") for asked in api.asked if "stream" in asked.path] == [
        *(None, "7", "7")
    ]


def test_events_are_printed_too_when_asked_for(
    terminal: Terminal, api: FakeApi, receiver: Receiver
) -> None:
    api.routes["GET events/stream"] = in_turn(stream(frame(LIFE[0])))
    Rounds(terminal, 1)

    told = terminal(
        "events", "listen", "--forward", receiver.url(""), "--print", "--secret", SECRET
    )

    assert told.stdout.splitlines()[-1].encode() == LIFE[0]


def test_a_name_and_an_answer_cannot_move_the_cursor(
    terminal: Terminal, api: FakeApi, receiver: Receiver
) -> None:
    receiver.status, receiver.answer = 400, b"\x1b[2J\xff" + b"x" * 10_000
    evil = facts.JobSubmitted(**(ABOUT | {"label": "41\x1b[2J"}))
    api.routes["GET events/stream"] = in_turn(stream(frame(body(1, evil))))
    Rounds(terminal, 1)

    told = terminal("events", "listen", "--forward", receiver.url(""), "--secret", SECRET).stdout

    assert "\x1b" not in told
    assert all(len(line) <= 100 for line in told.splitlines()[1:])


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--forward", "ftp://x"),
        ("--forward", "http://"),
        ("--forward", "http://x/ä b"),
        ("--forward", "3000", "--secret", "whsec_no"),
        ("--forward", "3000", "--secret", SECRET, "--secret-file", "x"),
        ("--forward", "3000", "--secret-file", "/nowhere"),
    ],
)
def test_what_cannot_be_forwarded_asks_nobody(
    terminal: Terminal, api: FakeApi, words: tuple[str, ...]
) -> None:
    assert terminal("events", "listen", *words).exit_code == 2
    assert api.asked == []


# --- trigger


def test_a_made_up_event_is_sent_from_here_and_no_server_is_asked(
    terminal: Terminal, api: FakeApi, receiver: Receiver
) -> None:
    port = str(receiver.port)

    told = terminal(
        *("events", "trigger", "job.failed", "--forward", f"localhost:{port}/x"),
        *("--secret", SECRET),
    )

    assert told.exit_code == 0
    [sent] = receiver.got
    assert sent.path == "/x"
    assert explain(sent.headers, sent.body, [SECRET], NOON).ok
    assert sent.json["type"] == "job.failed"
    assert sent.json["id"] == sent.id
    assert sent.id.startswith("test_")
    assert re.match(r"✓ job\.failed +job/41 +200 OK in", told.stdout)
    assert told.stdout.endswith("  │ thanks\n")
    assert api.asked == []


def test_a_made_up_event_that_is_refused_is_told_with_the_answer(
    terminal: Terminal, receiver: Receiver, closed_port: str
) -> None:
    receiver.status, receiver.answer = 401, b"No matching signature found"

    refused = terminal("events", "trigger", "job.failed", "--forward", receiver.url(""))
    away = terminal("events", "trigger", "job.failed", "--forward", closed_port)
    unknown = terminal("events", "trigger", "job.fialed", "--forward", closed_port)

    assert (refused.exit_code, away.exit_code, unknown.exit_code) == (1, 1, 2)
    assert "401 Unauthorized" in refused.stdout
    assert "webhooks verify" in refused.stdout.splitlines()[-1]
    assert "Did you mean job.failed?" in unknown.stderr


def test_webhooks_say_what_they_answered(terminal: Terminal, api: FakeApi) -> None:
    api.routes[f"POST {HOOKS}/trigger"] = lambda _: EventTriggered(
        type="job.failed",
        event={},
        results=[
            a_trial(type="job.failed"),
            a_trial(id="whk_2", name="chat", type="job.failed", ok=False, attempt=REFUSED),
        ],
    )

    told = terminal("events", "trigger", "job.failed")

    assert api.asked[-1].body == {"type": "job.failed", "workspace": ""}
    assert told.exit_code == 1
    assert told.stdout.splitlines() == [
        "1 of 2 webhooks took a made-up job.failed. It is in no ledger.",
        "✓ ci took a made-up job.failed: answered 200 in 14 ms.",
        "  dns 1.0 ms · connect 0.4 ms · first byte 12 ms · total 14 ms",
        "  │ ok",
        "✗ chat did not take a made-up job.failed: Nobody listens at this address (connect).",
        "  dns 1.0 ms · total 2.2 ms",
        "  Again:  clusterra webhooks test whk_2 --type job.failed",
    ]


def test_nobody_to_tell_is_said_with_what_to_do(terminal: Terminal, api: FakeApi) -> None:
    api.routes[f"POST {HOOKS}/trigger"] = lambda _: EventTriggered(
        type="node.down", event={}, results=[]
    )

    assert terminal("events", "trigger", "node.down").stdout.splitlines() == [
        "No webhook would be told of node.down.",
        "  Add one:  clusterra webhooks add URL --types node.down",
    ]
    assert json.loads(terminal("events", "trigger", "node.down", "--json").stdout)["results"] == []
    assert terminal("events", "trigger", "x", "--json", "--forward", "1").exit_code == 2


def test_a_type_that_is_none_is_refused_in_the_apis_words(terminal: Terminal, api: FakeApi) -> None:
    api.routes[f"POST {HOOKS}/trigger"] = lambda _: problem(
        422, "unknown-event-type", "There is no event 'x'.", "Did you mean y?", kind="invalid"
    )

    told = terminal("events", "trigger", "x")

    assert (told.exit_code, told.stderr.splitlines()[0]) == (2, "There is no event 'x'.")

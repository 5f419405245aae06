"""The ledger in the terminal: a table, live lines, and one job's timeline."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from clusterra.adapters.envelope import spell
from clusterra.cli.screen import Screen
from clusterra.core.events.catalogue import jobs as facts
from clusterra.core.events.event import Draft
from clusterra.core.events.fact import Fact
from tests.cli.conftest import Terminal
from tests.cli.test_watch import Rounds
from tests.cli.world import NOON, Answer, Asked, FakeApi, Hangup, problem

pytestmark = pytest.mark.enable_socket

ABOUT: dict[str, Any] = {"job_id": 41, "label": "41", "name": "align", "user": "ana"}
SUBMITTED = facts.JobSubmitted(**ABOUT, cpus=2, memory_mib=4096)
PENDING = facts.JobPending(**ABOUT, reason="Licenses")
STARTED = facts.JobStarted(**ABOUT, nodes="w1", waited_seconds=9)
COMPLETED = facts.JobCompleted(**ABOUT, ran_seconds=252)


def body(seq: int, fact: Fact, *, seconds: float = 0, actor: str = "system:slurm") -> bytes:
    at = NOON + timedelta(seconds=seconds)
    draft = Draft(id=f"e-{seq}", fact=fact, at=at, actor=actor, subject="job/41")
    return spell(draft, cluster="clus1a2b", seq=seq, recorded_at=at)


LIFE = [
    body(7, SUBMITTED, actor="user:ana"),
    body(8, PENDING, seconds=5),
    body(9, STARTED, seconds=9),
    body(10, COMPLETED, seconds=261),
]


def page(*bodies: bytes, following: str | None = None) -> Answer:
    joined = b",".join(bodies)
    return Answer(200, b'{"events":[%s],"next":%s}' % (joined, msgspec.json.encode(following)))


def stream(*parts: bytes) -> Answer:
    return Answer(200, b"retry: 2000\n\n" + b"".join(parts), "text/event-stream")


def frame(event: bytes) -> bytes:
    seen = msgspec.json.decode(event)
    words = (int(seen["sequence"]), seen["type"].encode(), event)
    return b"id: %d\nevent: %s\ndata: %s\n\n" % words


def in_turn(*answers: Answer | type[Hangup]) -> Callable[[Asked], Answer]:
    left = list(answers)

    def answer(_: Asked) -> Answer:
        found = left.pop(0) if left else Hangup
        if isinstance(found, Answer):
            return found
        raise found

    return answer


@pytest.fixture(autouse=True)
def in_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


def test_a_list_says_when_what_about_what_who_and_a_sentence(
    terminal: Terminal, api: FakeApi
) -> None:
    api.routes["GET events"] = lambda _: page(*LIFE)

    lines = terminal("events", "list").stdout.splitlines()

    assert lines[0].split() == ["TIME", "TYPE", "SUBJECT", "ACTOR"]
    assert lines[1].split(maxsplit=4) == [
        *("12:00:00", "job.submitted", "job/41", "ana"),
        "ana submitted align: 2 CPUs, 4 GiB",
    ]
    assert "waits: a license it needs is in use (Licenses)" in lines[2]
    assert lines[-1] == "4 events · live: clusterra events follow --after 10"
    assert api.asked[-1].query == {"last": "50"}


def test_filters_are_asked_for_as_they_were_said(terminal: Terminal, api: FakeApi) -> None:
    api.routes["GET events"] = lambda _: page(following="x")
    words = ["--type", "job.*", "--subject", "job/41", "--actor", "ana", "--since", "2d"]

    terminal("events", "list", *words, "--until", "1d", "--after", "7", "--limit", "5")

    assert api.asked[-1].query == {
        "type": "job.*",
        "subject": "job/41",
        "actor": "ana",
        "since": "2d",
        "until": "1d",
        "after": "7",
        "limit": "5",
    }


def test_a_page_that_is_not_the_last_names_the_command_for_the_next(
    terminal: Terminal, api: FakeApi
) -> None:
    api.routes["GET events"] = lambda _: page(*LIFE[:2], following="x")

    told = terminal("events", "list", "--after", "6", "--limit", "2").stdout.splitlines()

    assert told[-1] == "2 events · more: clusterra events list --after 8"


def test_no_events_is_said_in_words(terminal: Terminal, api: FakeApi) -> None:
    api.routes["GET events"] = lambda _: page()

    assert terminal("events", "list").stdout.startswith("No events match.")


def test_as_json_a_page_is_what_the_api_answered(terminal: Terminal, api: FakeApi) -> None:
    answer = page(*LIFE)
    api.routes["GET events"] = lambda _: answer

    assert terminal("events", "list", "--json").stdout_bytes == answer.body + b"\n"


def test_a_name_that_would_move_the_cursor_is_tamed(terminal: Terminal, api: FakeApi) -> None:
    bad = facts.JobSubmitted(**(ABOUT | {"name": "\x1b[2Jevil", "label": "41\n"}))
    api.routes["GET events"] = lambda _: page(body(1, bad))
    api.routes["GET events/stream"] = in_turn(stream(frame(body(1, bad))))
    api.routes["GET jobs/41/events"] = lambda _: page(body(1, bad))
    Rounds(terminal, 1)

    for words in (("events", "list"), ("events", "follow"), ("jobs", "timeline", "41")):
        assert "\x1b" not in terminal(*words).stdout


def test_following_prints_a_line_per_event_and_ctrl_c_ends_it_quietly(
    terminal: Terminal, api: FakeApi
) -> None:
    api.routes["GET events/stream"] = in_turn(stream(*map(frame, LIFE)))
    Rounds(terminal, 1)

    result = terminal("events", "follow")

    assert result.exit_code == 130
    assert [line.split(maxsplit=3) for line in result.stdout.splitlines()][2:] == [
        ["12:00:09", "job.started", "job/41", "started on w1 after waiting 9 s"],
        ["12:04:21", "job.completed", "job/41", "completed after 4m 12s"],
    ]
    assert api.asked[-1].headers["accept"] == "text/event-stream"
    assert api.asked[-1].query == {}


def test_what_was_cut_off_goes_on_after_the_last_event_and_it_is_said_once(
    terminal: Terminal, api: FakeApi
) -> None:
    api.routes["GET events/stream"] = in_turn(
        # The last event is cut off in the middle: it comes again.
        stream(frame(LIFE[0]), frame(LIFE[1]), frame(LIFE[2])[:-40]),
        Hangup,
        Hangup,
        stream(frame(LIFE[2]), frame(LIFE[3])),
    )
    Rounds(terminal, 4)

    result = terminal("events", "follow", "--json")

    assert result.stdout_bytes.splitlines() == LIFE
    assert [asked.query.get("after") for asked in api.asked if "stream" in asked.path] == [
        *(None, "8", "8", "8")
    ]
    said = result.stderr.splitlines()
    assert said[0] == "The server ended the stream. Connecting again after event 8."
    assert said[1] == "Connected again after event 8."
    assert len(said) == 3


def test_a_follower_that_was_cut_off_before_the_first_event_comes_back_to_where_it_began(
    terminal: Terminal, api: FakeApi
) -> None:
    api.routes["GET events/stream"] = in_turn(stream(b"id: 6\n\n", b":\n\n"), stream())
    Rounds(terminal, 2)

    assert terminal("events", "follow").stdout == ""
    assert api.asked[-1].query == {"after": "6"}


def test_a_follower_of_a_quiet_cluster_survives_a_restart_too(
    terminal: Terminal, api: FakeApi
) -> None:
    api.routes["GET events/stream"] = in_turn(stream(), Hangup, stream(frame(LIFE[0])))
    Rounds(terminal, 3)

    assert "job.submitted" in terminal("events", "follow", "--after", "6").stdout
    assert api.asked[-1].query == {"after": "6"}


def test_following_from_a_moment_begins_at_the_start_of_the_ledger(
    terminal: Terminal, api: FakeApi
) -> None:
    api.routes["GET events/stream"] = in_turn(stream())
    Rounds(terminal, 1)

    terminal("events", "follow", "--since", "2h", "--type", "job.*")

    assert api.asked[-1].query == {"after": "0", "since": "2h", "type": "job.*"}


def test_a_reset_is_told_and_followed(terminal: Terminal, api: FakeApi) -> None:
    reset = b'event: reset\ndata: {"oldest":7,"newest":10}\n\n'
    api.routes["GET events/stream"] = in_turn(stream(reset), stream(frame(LIFE[0])))
    Rounds(terminal, 2)

    result = terminal("events", "follow", "--after", "1")

    assert "begins with event 7 and ends with 10" in result.stderr
    assert "job.submitted" in result.stdout
    assert api.asked[-1].query == {"after": "6"}


def test_a_server_that_is_not_there_at_the_start_is_not_waited_for(
    terminal: Terminal, api: FakeApi
) -> None:
    api.routes["GET events/stream"] = in_turn(Hangup)

    assert terminal("events", "follow").exit_code == 5


def test_what_will_not_mend_itself_ends_the_following(terminal: Terminal, api: FakeApi) -> None:
    api.routes["GET events/stream"] = in_turn(
        stream(frame(LIFE[0])), problem(401, "bad-token", "This token is not valid here.")
    )

    result = terminal("events", "follow")

    assert result.exit_code == 3
    assert "This token is not valid here." in result.stderr


def test_a_timeline_tells_the_steps_and_the_time_between_them(
    terminal: Terminal, api: FakeApi
) -> None:
    # Learned late: the start was too short to be seen, and is in the ledger after the end.
    api.routes["GET jobs/41/events"] = lambda _: page(LIFE[0], LIFE[1], LIFE[3], LIFE[2])

    assert terminal("jobs", "timeline", "41").stdout.splitlines() == [
        "align · job 41 · ana · completed after 4m 12s",
        "  12:00:00           ana submitted align: 2 CPUs, 4 GiB",
        "  12:00:05     +5 s  waits: a license it needs is in use (Licenses)",
        "  12:00:09     +4 s  started on w1 after waiting 9 s",
        "  12:04:21  +4m 12s  completed after 4m 12s",
        "Everything about it: clusterra jobs show 41",
    ]


def test_lines_fit_the_screen(terminal: Terminal, api: FakeApi) -> None:
    terminal.screen = Screen(live=True, colour=False, width=60)
    api.routes["GET events"] = lambda _: page(*LIFE)
    api.routes["GET jobs/41/events"] = lambda _: page(*LIFE)
    api.routes["GET events/stream"] = in_turn(stream(*map(frame, LIFE)))
    Rounds(terminal, 1)

    for words in (("events", "list"), ("events", "follow"), ("jobs", "timeline", "41")):
        lines = [
            line for line in terminal(*words).stdout.splitlines() if line[:3] in {"  1", "12:"}
        ]
        assert lines
        assert max(map(len, lines)) <= 60


def test_a_job_the_ledger_knows_nothing_of_is_told_so(terminal: Terminal, api: FakeApi) -> None:
    api.routes["GET jobs/41/events"] = lambda _: page()

    told = terminal("jobs", "timeline", "41").stdout

    assert told.endswith("clusterra jobs show 41\n")

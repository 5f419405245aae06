"""`clusterra jobs logs`: exact bytes, through cuts, and what is said beside them."""

import json
from base64 import b64encode

import pytest

from tests.cli.conftest import Terminal
from tests.cli.world import Answer, Asked, FakeApi, ended, problem, running

pytestmark = pytest.mark.enable_socket

STREAM = "GET jobs/41/output/stream"


def frame(type: str, said: dict[str, object], id: int | None = None) -> bytes:
    place = "" if id is None else f"id: {id}\n"
    return f"{place}event: {type}\ndata: {json.dumps(said)}\n\n".encode()


def piece(offset: int, data: bytes) -> bytes:
    try:
        said: dict[str, object] = {"offset": offset, "text": data.decode()}
    except UnicodeDecodeError:
        said = {"offset": offset, "base64": b64encode(data).decode()}
    return frame("output", said, offset + len(data))


def end(size: int, state: str = "COMPLETED") -> bytes:
    return frame("end", {"size": size, "state": state})


def stream(*frames: bytes) -> Answer:
    return Answer(200, b"retry: 2000\n\nid: 0\n\n" + b"".join(frames), "text/event-stream")


def test_logs_are_the_bytes_the_job_wrote(terminal: Terminal, api: FakeApi) -> None:
    api.output = b"caf\xe9\x00\nno newline at the end"

    assert terminal("jobs", "logs", "41").stdout_bytes == api.output


def test_the_last_lines_are_asked_for(terminal: Terminal, api: FakeApi) -> None:
    api.output = b"".join(b"%d" % n * 300 + b"\n" for n in range(10))

    for option in ("--tail", "-n"):
        told = terminal("jobs", "logs", "41", option, "3").stdout.splitlines()
        assert [line[0] for line in told] == ["7", "8", "9"]


def test_errors_in_a_file_of_their_own_and_a_task_can_be_read(
    terminal: Terminal, api: FakeApi
) -> None:
    api.output = b"oh no\n"

    terminal("jobs", "logs", "41", "--stderr", "--task", "3")

    assert api.asked[-1].query["stream"] == "stderr"
    assert api.asked[-1].path.endswith("/jobs/41_3/output")


def test_no_output_yet_is_four(terminal: Terminal) -> None:
    result = terminal("jobs", "logs", "41")

    assert (result.exit_code, result.stderr) == (4, "Job 41 has written nothing yet.\n")


def test_following_prints_every_byte_and_says_how_the_job_went(
    terminal: Terminal, api: FakeApi
) -> None:
    api.life = [ended()]
    api.routes[STREAM] = lambda _: stream(
        frame("waiting", {"state": "PENDING"}),
        piece(0, b"one\n"),
        piece(4, b"\xff\x00\x1b[31m"),
        end(11),
    )
    result = terminal("jobs", "logs", "41", "-f")

    assert result.exit_code == 0
    assert result.stdout_bytes == b"one\n\xff\x00\x1b[31m"
    assert result.stderr == "✓ completed in 31 s\n"


def test_twenty_cuts_lose_no_byte_and_repeat_none(terminal: Terminal, api: FakeApi) -> None:
    written = b"".join(b"line %d\n" % number for number in range(200))
    api.life = [ended()]
    asked: list[int] = []

    def cut(request: Asked) -> Answer:
        """Send what comes after where the client is, and break off in the middle of a piece."""
        at = int(request.headers.get("last-event-id", 0))
        asked.append(at)
        if len(asked) > 20:
            return stream(piece(at, written[at:]), end(len(written)))
        whole, torn = piece(at, written[at : at + 37]), piece(at + 37, written[at + 37 : at + 99])
        body = b"id: %d\n\n" % at + whole + torn[: len(torn) - len(asked)]
        return Answer(200, body, "text/event-stream")

    api.routes[STREAM] = cut
    result = terminal("jobs", "logs", "41", "-f")

    assert result.stdout_bytes == written
    assert asked == [37 * number for number in range(21)]
    assert "Connecting again at byte 37." in result.stderr


def test_a_file_begun_again_is_printed_again_and_said_so(terminal: Terminal, api: FakeApi) -> None:
    api.life = [ended()]
    api.routes[STREAM] = lambda _: stream(
        piece(0, b"first try\n"),
        frame("reset", {"offset": 0, "reason": "truncated"}, 0),
        piece(0, b"again\n"),
        end(6),
    )
    result = terminal("jobs", "logs", "41", "-f")

    assert result.stdout == "first try\nagain\n"
    assert "was begun again; it follows from its beginning." in result.stderr


def test_ctrl_c_stops_reading_and_not_the_job(terminal: Terminal, api: FakeApi) -> None:
    api.life = [running()]
    api.routes[STREAM] = lambda _: stream(piece(0, b"one\n"))

    def interrupted() -> None:
        raise KeyboardInterrupt

    terminal.watch.on_wait = interrupted
    result = terminal("jobs", "logs", "41", "-f")

    assert (result.exit_code, result.stdout) == (130, "one\n")
    assert "job 41 goes on. Cancel it with: clusterra jobs cancel 41" in result.stderr


def test_what_ends_the_stream_is_said(terminal: Terminal, api: FakeApi) -> None:
    api.routes[STREAM] = lambda _: stream(
        frame("error", {"code": "output-unreadable", "detail": "It is a link now."})
    )
    result = terminal("jobs", "logs", "41", "-f")

    assert result.exit_code != 0
    assert "It is a link now." in result.stderr


def test_what_was_refused_is_not_asked_again(terminal: Terminal, api: FakeApi) -> None:
    api.routes[STREAM] = lambda _: problem(403, "foreign-job", "It is ana's.", kind="forbidden")

    result = terminal("jobs", "logs", "41", "-f")

    assert (result.exit_code, result.stderr) == (3, "It is ana's.\n")


def test_lines_with_a_text_come_with_their_numbers(terminal: Terminal, api: FakeApi) -> None:
    matches = [
        {"line": 12, "offset": 99, "at": 105, "text": "step\tloss \x1b[2J", "cut": False},
        {"line": 70, "offset": 900, "at": 1000, "text": "loss", "cut": True},
    ]
    found = {"matches": matches, "more": False, "size": 2000}
    api.routes["GET jobs/41/output"] = lambda _: found

    result = terminal("jobs", "logs", "41", "--grep", "loss", "-i")
    as_json = terminal("jobs", "logs", "41", "--grep", "loss", "--json")

    assert result.stdout.splitlines() == ["12: step    loss �[2J", "70: …loss…"]
    assert api.asked[1].query == {
        "grep": "loss",
        "stream": "stdout",
        "ignore_case": "true",
        "limit": "1000",
    }
    assert json.loads(as_json.stdout) == found
    api.routes["GET jobs/41/output"] = lambda _: {"matches": [], "more": False, "size": 0}
    assert terminal("jobs", "logs", "41", "--grep", "loss").exit_code == 1


@pytest.mark.parametrize("words", [("--grep", "x", "-f"), ("--grep", "x", "-n", "3"), ("--json",)])
def test_what_does_not_go_together_is_refused(terminal: Terminal, words: tuple[str, ...]) -> None:
    assert terminal("jobs", "logs", "41", *words).exit_code == 2

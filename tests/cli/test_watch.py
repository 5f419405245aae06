import pytest

from clusterra.cli.screen import Screen
from tests.cli.conftest import Terminal
from tests.cli.world import Asked, FakeApi, a_job, ended, problem, running

pytestmark = pytest.mark.enable_socket


class Rounds:
    """Stops a command that would go on for ever, after so many waits."""

    def __init__(self, terminal: Terminal, rounds: int) -> None:
        self.left = rounds
        terminal.watch.on_wait = self

    def __call__(self) -> None:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


def test_watching_a_job_ends_with_it_and_its_code(terminal: Terminal, api: FakeApi) -> None:
    api.life = [running(), ended(state="FAILED", exit_code=7)]

    assert terminal("jobs", "watch", "41").exit_code == 7


def test_a_job_nobody_knows_is_not_waited_for(terminal: Terminal, api: FakeApi) -> None:
    api.routes["GET jobs/9"] = lambda _: problem(404, "not-found", "There is no job 9.")

    assert terminal("jobs", "watch", "9").exit_code == 4


def test_the_list_is_drawn_again_until_ctrl_c(terminal: Terminal, api: FakeApi) -> None:
    terminal.screen = Screen(live=True, colour=False, width=80)
    api.pages = [[running()]]
    Rounds(terminal, 3)

    result = terminal("jobs", "watch")

    assert result.exit_code == 130
    assert result.stderr == "Stopped watching; the jobs go on.\n"
    assert result.stdout.count("● running") == 3
    assert api.asked[-1].query["q"] == "state:live"


def test_a_drawn_list_stays_when_the_server_goes(terminal: Terminal, api: FakeApi) -> None:
    terminal.screen = Screen(live=True, colour=False, width=80)
    api.pages = [[running()]]
    looks: list[Asked] = []

    def once(asked: Asked) -> object:
        looks.append(asked)
        return api._question(asked, "jobs") if len(looks) == 1 else problem(503, "x", "Away.")

    api.routes["GET jobs"] = once
    Rounds(terminal, 2)

    last = terminal("jobs", "watch").stdout.split("\x1b[H")[-1]

    assert "● running" in last
    assert "Away. Asking again." in last


def test_in_a_pipe_the_list_is_news(terminal: Terminal, api: FakeApi) -> None:
    looks: list[Asked] = []

    def list_then_gone(asked: Asked) -> object:
        looks.append(asked)
        api.pages = [[a_job(reason="Resources")] if len(looks) < 3 else []]
        return api._question(asked, "jobs")

    api.routes["GET jobs"] = list_then_gone
    api.life = [ended()]
    Rounds(terminal, 4)

    assert terminal("jobs", "watch").stdout.splitlines() == [
        "◌ 41 align (ana): waiting what it asks for is in use (Resources)",
        "✓ 41 align (ana): completed in 31 s",
    ]


def test_logs_are_the_bytes_the_job_wrote(terminal: Terminal, api: FakeApi) -> None:
    api.output = b"caf\xe9\x00\nno newline at the end"

    assert terminal("jobs", "logs", "41").stdout_bytes == api.output


def test_the_last_lines_are_found_however_long_they_are(terminal: Terminal, api: FakeApi) -> None:
    api.output = b"".join(b"%d" % n * 300 + b"\n" for n in range(10))

    told = terminal("jobs", "logs", "41", "--tail", "3").stdout.splitlines()

    assert [line[0] for line in told] == ["7", "8", "9"]


def test_errors_in_a_file_of_their_own_can_be_read(terminal: Terminal, api: FakeApi) -> None:
    api.output = b"oh no\n"

    terminal("jobs", "logs", "41", "--stderr")

    assert api.asked[-1].query["stream"] == "stderr"


def test_no_output_yet_is_four(terminal: Terminal) -> None:
    result = terminal("jobs", "logs", "41")

    assert (result.exit_code, result.stderr) == (4, "Job 41 has written nothing yet.\n")


def test_following_prints_every_byte_once(terminal: Terminal, api: FakeApi) -> None:
    written = [None, b"one\n", b"one\ntwo\n", b"one\ntwo\n" + b"x" * 50_000 + b"\n"]
    api.life = [a_job(), running(), running(), running(), ended()]

    def grow() -> None:
        api.output = written.pop(0) if written else api.output

    grow()
    terminal.watch.on_wait = grow
    result = terminal("jobs", "logs", "41", "-f")

    assert result.exit_code == 0
    assert result.stdout_bytes == b"one\ntwo\n" + b"x" * 50_000 + b"\n"


def test_a_file_begun_again_is_printed_again(terminal: Terminal, api: FakeApi) -> None:
    written = [b"first try\n", b"again\n"]
    api.life = [running(), running(), ended()]

    def rewrite() -> None:
        api.output = written.pop(0) if written else api.output

    rewrite()
    terminal.watch.on_wait = rewrite

    assert terminal("jobs", "logs", "41", "-f").stdout == "first try\nagain\n"

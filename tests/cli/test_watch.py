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

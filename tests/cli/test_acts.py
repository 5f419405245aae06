import json

import pytest

from clusterra.cli.screen import Screen
from tests.cli.conftest import Terminal
from tests.cli.world import Asked, FakeApi, problem

pytestmark = pytest.mark.enable_socket


def acts(api: FakeApi) -> list[tuple[str, str]]:
    return [
        (each.method, each.path.rpartition("/jobs")[2]) for each in api.asked if "jobs" in each.path
    ]


def test_each_job_named_is_cancelled(terminal: Terminal, api: FakeApi) -> None:
    result = terminal("jobs", "cancel", "41", "42")

    assert result.stdout.splitlines() == [
        "Job 41 is being cancelled.",
        "Job 42 is being cancelled.",
    ]
    assert acts(api) == [("DELETE", "/41"), ("DELETE", "/42")]


def test_one_refusal_does_not_keep_the_others(terminal: Terminal, api: FakeApi) -> None:
    api.routes["DELETE jobs/41"] = lambda _: problem(409, "conflict", "Job 41 has ended already.")

    result = terminal("jobs", "cancel", "41", "42")

    assert result.exit_code == 3
    assert result.stderr == "Job 41 has ended already.\n"
    assert result.stdout == "Job 42 is being cancelled.\n"


@pytest.mark.parametrize("act", ["hold", "release", "requeue"])
def test_acts_go_to_their_own_path(terminal: Terminal, api: FakeApi, act: str) -> None:
    assert terminal("jobs", act, "41").exit_code == 0
    assert acts(api) == [("POST", f"/41/{act}")]


def test_an_edit_sends_what_changes(terminal: Terminal, api: FakeApi) -> None:
    result = terminal("jobs", "edit", "41", "--time", "2h", "--json")

    assert api.asked[-1].body == {"time": "2h"}
    assert json.loads(result.stdout)["act"] == "edit"


def test_an_edit_of_nothing_is_wrong_usage(terminal: Terminal, api: FakeApi) -> None:
    assert terminal("jobs", "edit", "41").exit_code == 2
    assert not api.asked


class Cancelling:
    """Answers the bulk cancel, and remembers whether it was for real."""

    def __init__(self, api: FakeApi, *ids: int) -> None:
        self.ids = list(ids)
        self.failed: list[dict[str, object]] = []
        self.dry: list[bool] = []
        api.routes["POST jobs/cancel"] = self

    def __call__(self, asked: Asked) -> object:
        self.dry.append(asked.body["dry_run"])
        failed = [] if asked.body["dry_run"] else self.failed
        return {
            "count": len(self.ids),
            "dry_run": asked.body["dry_run"],
            "job_ids": self.ids,
            "failed": failed,
        }


def test_in_a_pipe_a_query_is_counted_and_not_carried_out(terminal: Terminal, api: FakeApi) -> None:
    cancelling = Cancelling(api, 41, 42)

    result = terminal("jobs", "cancel", "--query", "user:ana")

    assert result.exit_code == 3
    assert cancelling.dry == [True]
    assert result.stderr.splitlines() == [
        "2 live jobs match `user:ana`: 41, 42.",
        "Nothing was cancelled. To cancel them, add --yes.",
    ]


def test_yes_carries_it_out(terminal: Terminal, api: FakeApi) -> None:
    cancelling = Cancelling(api, 41, 42)

    result = terminal("jobs", "cancel", "--query", "user:ana", "--yes")

    assert cancelling.dry == [True, False]
    assert (result.exit_code, result.stdout) == (0, "2 jobs being cancelled.\n")


@pytest.mark.parametrize(("typed", "dry"), [("y\n", [True, False]), ("n\n", [True]), ("", [True])])
def test_a_terminal_is_asked(
    terminal: Terminal,
    api: FakeApi,
    monkeypatch: pytest.MonkeyPatch,
    typed: str,
    dry: list[bool],
) -> None:
    terminal.screen = Screen(live=True, colour=False)
    monkeypatch.setattr("clusterra.cli.agree.is_typed", lambda: True)
    cancelling = Cancelling(api, 41)

    result = terminal("jobs", "cancel", "--query", "align", typed=typed)

    assert "Cancel it? [y/N]" in result.stdout
    assert cancelling.dry == dry


def test_what_could_not_be_cancelled_is_said(terminal: Terminal, api: FakeApi) -> None:
    Cancelling(api, 41).failed = [{"job_id": 42, "detail": "It belongs to ben."}]

    result = terminal("jobs", "cancel", "--query", "align", "-y")

    assert (result.exit_code, result.stderr) == (3, "Job 42: It belongs to ben.\n")


def test_a_query_that_finds_nothing_cancels_nothing(terminal: Terminal, api: FakeApi) -> None:
    cancelling = Cancelling(api)

    result = terminal("jobs", "cancel", "--query", "user:eve", "--yes")

    assert result.exit_code == 0
    assert "nothing to cancel" in result.stdout
    assert cancelling.dry == [True]


def test_ids_and_a_query_together_are_wrong_usage(terminal: Terminal) -> None:
    assert terminal("jobs", "cancel", "41", "--query", "x").exit_code == 2
    assert terminal("jobs", "cancel").exit_code == 2

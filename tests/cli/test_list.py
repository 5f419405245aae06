import json
from pathlib import Path

import pytest

from tests.cli.conftest import Terminal
from tests.cli.world import TOKEN, FakeApi, a_job, ended, me, problem, running

pytestmark = pytest.mark.enable_socket


def test_a_list_is_a_table_with_a_next_step(terminal: Terminal, api: FakeApi) -> None:
    api.pages = [[running(job_id=44, user="ben", gpus=1), a_job(job_id=43, reason="Resources")]]

    result = terminal("jobs", "list")

    assert result.stdout.splitlines() == [
        "  ID  NAME   USER  STATE      ASKED     WAITED  RAN",
        "  44  align  ben   ● running  2c 8G 1g     3 s  0 s  on w1",
        "  43  align  ana   ◌ waiting  2c 8G        0 s    –  what it asks for is in use (Resources)",
        "2 of 2 jobs · `clusterra jobs show 43` for what it waits for",
    ]


def test_more_than_a_page_says_how_to_see_the_rest(terminal: Terminal, api: FakeApi) -> None:
    api.pages = [[ended(job_id=3)], [ended(job_id=2)], [ended(job_id=1)]]

    one = terminal("jobs", "list").stdout
    every = terminal("jobs", "list", "--all").stdout

    assert "1 of 3 jobs · the rest with --all" in one
    assert "3 of 3 jobs" in every
    assert len(every.splitlines()) == 5


def test_filters_become_one_query(terminal: Terminal, api: FakeApi) -> None:
    terminal(
        *("jobs", "list", "chr7", "cpus>=4", "-partition:gpu"),
        *("--user", "ana", "--state", "failed,timeout", "--sort", "-ended", "--limit", "5"),
    )

    assert api.asked[-1].query == {
        "q": "chr7 cpus>=4 -partition:gpu user:ana state:failed,timeout",
        "sort": "-ended",
        "limit": "5",
    }


def test_mine_is_whatever_runs_as_ones_own_linux_user(terminal: Terminal, api: FakeApi) -> None:
    api.routes["GET /v1/users/me"] = lambda _: me(login="ana-2")

    terminal("jobs", "list", "--mine")

    assert api.asked[-1].query["q"] == "user:ana-2"


def test_a_list_asks_for_nothing_but_the_jobs(terminal: Terminal, api: FakeApi) -> None:
    terminal("jobs", "list", "--cluster", "clus1a2b")

    assert [asked.path for asked in api.asked] == [
        "/v1/clusters",
        "/v1/clusters/clus1a2b/jobs",
    ]


def test_state_with_a_path_means_the_server_as_everywhere(
    terminal: Terminal, api: FakeApi, tmp_path: Path
) -> None:
    run = {"url": api.url, "pid": 1, "cluster": "clus1a2b"}
    (tmp_path / "run.json").write_text(json.dumps(run))
    (tmp_path / "token").write_text(TOKEN)
    terminal.environ.clear()

    assert terminal("jobs", "list", "--state", str(tmp_path)).exit_code == 0
    assert terminal("--state", str(tmp_path), "jobs", "list", "--state", "failed").exit_code == 0
    assert api.asked[-1].query["q"] == "state:failed"


def test_old_news_says_its_age(terminal: Terminal, api: FakeApi) -> None:
    api.pages = [[ended()]]
    api.stale_for = 124

    told = terminal("jobs", "list").stdout

    assert "Slurm was last seen 2m 04s ago: this is what was known then" in told


def test_an_empty_list_teaches(terminal: Terminal) -> None:
    assert terminal("jobs", "list").stdout.splitlines() == [
        "No jobs yet. Submit the first one:",
        "  clusterra run -- hostname",
        "  clusterra jobs submit script.sh --wait",
    ]
    assert terminal("jobs", "list", "user:eve").stdout.startswith("No job matches `user:eve`.\n")


def test_json_is_byte_for_byte(terminal: Terminal, api: FakeApi) -> None:
    api.pages = [[running()], [ended()]]

    pages = terminal("jobs", "list", "--all", "--json").stdout.splitlines()

    assert [json.loads(page)["next"] for page in pages] == ["1", None]


def test_a_mistake_in_a_query_is_pointed_at(terminal: Terminal, api: FakeApi) -> None:
    api.routes["GET jobs"] = lambda _: problem(
        422,
        "query",
        "There is no field `usr`.",
        "Did you mean user?",
        at="column 6",
        kind="invalid",
    )

    result = terminal("jobs", "list", "chr7", "usr:ana")

    assert result.exit_code == 2
    assert result.stderr.splitlines() == [
        "There is no field `usr`.",
        "  chr7 usr:ana",
        "       ^",
        "Did you mean user?",
    ]


def test_show_tells_the_story_of_a_job(terminal: Terminal, api: FakeApi) -> None:
    api.life = [ended(state="FAILED", exit_code=7)]
    api.output = b"reading\nmerging from 4 files\n"

    told = terminal("jobs", "show", "41").stdout.splitlines()

    assert told[0] == "align · job 41 · ana · ✗ failed with exit code 7 after 31 s"
    assert told[1] == "  asked      2 CPUs · 8 GiB · 1 h · partition main · account lab"
    assert "waited 3 s → ran 31 s on w1" in told[2]
    assert told[-2] == "    merging from 4 files"
    assert told[-1] == "  Next:  clusterra jobs logs 41"


def test_show_says_why_a_job_waits_and_how_to_let_it_go(terminal: Terminal, api: FakeApi) -> None:
    api.life = [a_job(reason="JobHeldUser")]

    told = terminal("jobs", "show", "41").stdout.splitlines()

    assert told[0] == "align · job 41 · ana · ◌ held for 0 s"
    assert told[1] == "  It waits: its owner holds it (JobHeldUser)."
    assert told[-1] == "  Next:  clusterra jobs release 41"


def test_an_unknown_job_is_four(terminal: Terminal, api: FakeApi) -> None:
    api.routes["GET jobs/9"] = lambda _: problem(404, "not-found", "There is no job 9.")

    result = terminal("jobs", "show", "9", "--json")

    assert (result.exit_code, result.stdout, result.stderr) == (4, "", "There is no job 9.\n")

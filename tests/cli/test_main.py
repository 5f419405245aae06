import os
import subprocess
import sys
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType

import pytest
from click.testing import CliRunner

from clusterra import __version__
from clusterra.cli.amounts import utc_now
from clusterra.cli.main import COMMANDS, cli
from clusterra.client.credentials import Credentials, Signed
from clusterra.client.find import credentials_file
from tests.cli.conftest import Terminal
from tests.cli.world import TOKEN, FakeApi, a_job, ended, running

HEAVY = ("aiohttp", "fastapi", "starlette", "uvicorn", "asyncio", "pydantic", "structlog")


def python(*arguments: str, environ: Mapping[str, str] = MappingProxyType({})) -> str:
    # Only our own search path: a plugin that imports asyncio at start-up is not ours to judge.
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | dict(environ),
    )
    return done.stdout


@pytest.mark.parametrize(
    "module",
    [
        "clusterra.cli.main",
        "clusterra.cli.jobs.list",
        "clusterra.cli.jobs.submit",
        "clusterra.cli.webhooks.list",
        "clusterra.cli.webhooks.verify",
        "clusterra.cli.events.listen",
        "clusterra.cli.events.trigger",
    ],
)
def test_the_terminal_loads_no_server(module: str) -> None:
    script = f"import {module}, sys; print([m for m in {HEAVY!r} if m in sys.modules])"

    assert python("-c", script) == "[]\n"


def test_a_list_of_jobs_waits_for_no_import_it_does_not_use() -> None:
    slow = ("http.client", "email", "ssl", "clusterra.wire.clusters", "clusterra.wire.people")
    script = (
        f"import clusterra.cli.jobs.list, sys; print([m for m in {slow!r} if m in sys.modules])"
    )

    assert python("-c", script) == "[]\n"


@pytest.mark.enable_socket
def test_a_list_with_a_session_that_is_good_imports_nothing_about_people(
    api: FakeApi, tmp_path: Path
) -> None:
    environ = {"XDG_CONFIG_HOME": str(tmp_path), "CLUSTERRA_STATE": str(tmp_path)}
    ends = utc_now() + timedelta(minutes=5)
    session = Signed(email="a@b", access_token=TOKEN, ends_at=ends, refresh_token="r")
    Credentials(credentials_file(environ)).keep(api.url, session)
    script = "import sys; from clusterra.cli.main import main\ntry: main()\nfinally: "
    script += "print('clusterra.wire.people' in sys.modules)"

    told = python("-c", script, "--url", api.url, "jobs", "list", environ=environ)

    assert told.endswith("False\n")
    assert api.asked[-1].headers["authorization"] == f"Bearer {TOKEN}"


def test_help_names_every_command_without_loading_any() -> None:
    script = "import sys; from clusterra.cli.main import main\ntry: main()\nfinally: "
    script += "print([m for m in sys.modules if m.startswith('clusterra.local')])"

    told = python("-c", script, "--help")

    assert all(f"  {name} " in told for name in COMMANDS)
    assert told.endswith("[]\n")


def test_version_is_said() -> None:
    assert python("-m", "clusterra", "--version") == f"clusterra {__version__}\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_for_the_shell(shell: str) -> None:
    result = CliRunner().invoke(cli, ["completion", shell])

    assert result.exit_code == 0
    assert f"_CLUSTERRA_COMPLETE={shell}_complete" in result.stdout


def completions(line: str) -> list[str]:
    words = line.split(" ")
    asked = {
        "_CLUSTERRA_COMPLETE": "bash_complete",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
    }
    told = CliRunner().invoke(cli, [], prog_name="clusterra", env=asked).stdout
    return [each.partition(",")[2] for each in told.split()]


def test_commands_and_options_are_completed() -> None:
    assert completions("clusterra jo") == ["jobs"]
    assert completions("clusterra jobs re") == ["resubmit", "release", "requeue"]
    assert "--memory" in completions("clusterra jobs submit --me")


def test_a_mistyped_command_names_the_near_one() -> None:
    result = CliRunner().invoke(cli, ["job", "list"])

    assert result.exit_code == 2
    assert "jobs" in result.stderr


@pytest.mark.enable_socket
def test_job_ids_are_completed_from_the_server(
    api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLUSTERRA_URL", api.url)
    monkeypatch.setenv("CLUSTERRA_TOKEN", TOKEN)
    api.pages = [[running(job_id=44), ended(job_id=41), a_job(job_id=7)]]

    assert completions("clusterra jobs show 4") == ["44", "41"]

    monkeypatch.setenv("CLUSTERRA_URL", "http://127.0.0.1:1")
    assert completions("clusterra jobs show 4") == []


@pytest.mark.enable_socket
class TestErrorsByKind:
    def test_no_server_is_five(self, terminal: Terminal, tmp_path: Path) -> None:
        terminal.environ["CLUSTERRA_URL"] = "http://127.0.0.1:1"
        assert terminal("jobs", "list").exit_code == 5

        terminal.environ = {"CLUSTERRA_STATE": str(tmp_path)}
        result = terminal("jobs", "list")
        assert result.exit_code == 5
        assert "clusterra up" in result.stderr

    def test_a_wrong_token_is_three_and_never_shown(
        self, terminal: Terminal, api: FakeApi, tmp_path: Path
    ) -> None:
        (tmp_path / "token").write_text("wrong-secret")

        result = terminal("jobs", "list", "--token-file", str(tmp_path / "token"))

        assert result.exit_code == 3
        assert "wrong-secret" not in result.output

    def test_options_count_before_and_after_the_command(
        self, terminal: Terminal, api: FakeApi
    ) -> None:
        terminal.environ.pop("CLUSTERRA_URL")
        for words in (
            ("--url", api.url, "nodes", "list"),
            ("nodes", "--url", api.url, "list"),
            ("nodes", "list", "--url", api.url),
            ("--url", "http://127.0.0.1:1", "nodes", "list", "--url", api.url),
        ):
            assert terminal(*words).exit_code == 0, words

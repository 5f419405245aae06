"""`clusterra collect` as a person meets it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from clusterra.cli.main import cli
from tests.agent.hooks import AT_END, a_spool, call
from tests.served import KEY, served
from tests.world import LAB


def collect(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli, ["collect", *words], prog_name="clusterra")
    return result.exit_code, result.output


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ((), "--url"),
        (("--url", "http://127.0.0.1:1"), "--cluster"),
        (("--url", "http://127.0.0.1:1", "--cluster", LAB), "--key-file"),
    ],
)
def test_what_is_missing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: tuple[str, ...], missing: str
) -> None:
    for name in ("CLUSTERRA_URL", "CLUSTERRA_CLUSTER"):
        monkeypatch.delenv(name, raising=False)

    code, output = collect("--spool", str(tmp_path), *given)

    assert code == 2
    assert output.startswith(f"{missing} is missing.")
    assert "clusterra collect --spool DIR" in output


def test_installing_says_what_slurm_has_to_be_told(tmp_path: Path) -> None:
    code, output = collect("--spool", str(tmp_path / "spool"), "--install")

    hook = tmp_path / "spool/hook.sh"
    assert code == 0
    assert f"PrologSlurmctld={hook}" in output
    assert f"JobCompLoc={hook}" in output
    assert subprocess.run([hook], env=AT_END, check=False).returncode == 0
    assert len(list((tmp_path / "spool/new").iterdir())) == 1


def test_a_spool_that_cannot_be_used_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    code, output = collect("--spool", str(tmp_path / "file"), "--install")

    assert code == 3
    assert "cannot be used" in output


@pytest.mark.enable_socket
def test_once_sends_what_there_is_and_ends(tmp_path: Path) -> None:
    spool = a_spool(tmp_path / "spool")
    call(spool.path, **AT_END)
    key = tmp_path / "key"
    key.write_text(KEY)
    with served(tmp_path) as server:
        options = ("--spool", str(spool.path), "--cluster", LAB, "--key-file", str(key), "--once")

        code, output = collect(*options, "--url", server.url, "--json")
        again, nothing = collect(*options, "--url", server.url)

        assert (code, json.loads(output)) == (0, {"shipped": 1, "refused": 0})
        assert (again, nothing) == (0, "0 facts shipped.\n")
        assert [heard.job_id for heard in server.heard()] == [41]


@pytest.mark.enable_socket
def test_once_in_front_of_nobody_fails_and_keeps_everything(tmp_path: Path) -> None:
    spool = a_spool(tmp_path / "spool")
    call(spool.path, **AT_END)
    key = tmp_path / "key"
    key.write_text(KEY)

    code, output = collect(
        *("--spool", str(spool.path), "--url", "http://127.0.0.1:1"),
        *("--cluster", LAB, "--key-file", str(key), "--once"),
    )

    assert code == 5
    assert "No Clusterra answers" in output
    assert len(spool.notes()) == 1


def test_the_terminal_does_not_pay_for_the_server() -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-c"),
            "import sys, clusterra.cli.collect; print('fastapi' in sys.modules, 'aiohttp' in sys.modules)",
        ],
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.split() == ["False", "False"]

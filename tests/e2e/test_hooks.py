"""Slurm's own hooks on a real cluster: what they say is heard, whoever dies meanwhile."""

import json
import os
import re
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cluster import Land, Running

TAKEN = re.compile(
    r'clusterra_requests_total\{route="/v1/internal/events",method="POST",status="200"\} (\d+)'
)


def until(true: Callable[[], bool], what: str, timeout: float = 30) -> None:
    give_up = time.monotonic() + timeout
    while not true():
        if time.monotonic() > give_up:
            pytest.fail(f"still not so: {what}")
        time.sleep(0.05)


def daemons(running: Running) -> dict[str, dict[str, object]]:
    told = json.loads(running.cli("status", "--json").stdout)
    return {each["name"]: each for each in told["daemons"]}


def taken(running: Running) -> int:
    """Return how many requests of the collector have been answered."""
    text = running.connection().send("GET", "/metrics").body.decode()
    found = TAKEN.search(text)
    return int(found[1]) if found else 0


def spooled(running: Running) -> list[Path]:
    return list((running.path / "var/lib/slurm/clusterra/new").iterdir())


@pytest.fixture
def one(land: Land, tmp_path: Path) -> Iterator[Running]:
    made = land.up(land.home / f"hooks-{tmp_path.name}")
    yield made
    made.down()
    shutil.rmtree(made.path)


def test_the_start_and_the_end_of_a_job_are_heard(running: Running) -> None:
    before = taken(running)

    assert running.wait_ended(running.submit("hostname")).state == "COMPLETED"

    until(lambda: taken(running) >= before + 2, "both hooks have been heard")
    until(lambda: not spooled(running), "the spool is empty")
    assert not list((running.path / "var/lib/slurm/clusterra/bad").iterdir())


def test_facts_wait_for_a_collector_that_was_killed_and_for_a_server_that_was(
    one: Running,
) -> None:
    for daemon in ("collector", "control-plane"):
        before = daemons(one)[daemon]
        job = one.submit("sleep 1")
        os.kill(int(str(before["pid"])), signal.SIGKILL)
        until(lambda d=daemon, b=before: _is_back(one, d, b), f"{daemon} is back")  # type: ignore[misc]

        assert one.wait_ended(job).state == "COMPLETED"
        until(lambda: not spooled(one), "the spool is empty")
        assert taken(one) > 0


def _is_back(running: Running, daemon: str, before: dict[str, object]) -> bool:
    now = daemons(running)[daemon]
    return now["pid"] != before["pid"] and bool(now["ready"])


def test_a_cluster_without_hooks_runs_jobs_and_nobody_collects(land: Land) -> None:
    quiet = land.up(land.home / "no-hooks", "--no-hooks")
    try:
        assert "collector" not in daemons(quiet)
        assert "PrologSlurmctld" not in (quiet.path / "etc/slurm/slurm.conf").read_text()
        assert quiet.wait_ended(quiet.submit("hostname")).state == "COMPLETED"
        assert taken(quiet) == 0
    finally:
        quiet.down()
        shutil.rmtree(quiet.path)

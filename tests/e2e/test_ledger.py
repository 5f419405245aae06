"""The ledger of a real Slurm: the same for whoever looks, however often they die."""

import contextlib
import os
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.cluster import Running
from tests.watcher import Watcher, ledger

JOBS = int(os.environ.get("CLUSTERRA_E2E_JOBS", "90"))
"""How many short jobs; the long form of this test runs a thousand."""

STEPS = ("job.submitted", "job.started", "job.completed")


def of_jobs(events: list[dict[str, Any]], ids: set[int]) -> list[dict[str, Any]]:
    return [event for event in events if event["data"].get("job_id") in ids]


@pytest.fixture
def watchers(running: Running, tmp_path: Path) -> Iterator[tuple[Watcher, Watcher]]:
    calm, hunted = Watcher(running, tmp_path / "calm"), Watcher(running, tmp_path / "hunted")
    tmp_path.chmod(0o755)
    for each in (calm, hunted):
        each.start()
    yield calm, hunted
    for each in (calm, hunted):
        each.kill()


def test_every_job_is_told_once_by_hooks_by_looking_and_by_one_who_dies_all_the_time(
    running: Running, watchers: tuple[Watcher, Watcher]
) -> None:
    calm, hunted = watchers
    for each in watchers:
        _until(lambda each=each: any(e["type"] == "cluster.connected" for e in each.ledger()))
    hunt = threading.Thread(target=hunted.kill_now_and_then)
    hunt.start()
    with ThreadPoolExecutor(4) as four:
        ids = set(four.map(lambda _: running.submit("sleep 0.2"), range(JOBS)))
    with contextlib.closing(running.connection()) as connection:

        def over() -> bool:
            mine = of_jobs(ledger(connection, running.cluster), ids)
            return bool(sum(event["type"] == "job.completed" for event in mine) >= JOBS)

        _until(over, 60 + JOBS)
        told = {"hooks": of_jobs(ledger(connection, running.cluster), ids)}
    hunted.leave_alone()
    hunt.join()
    for name, each in (("calm", calm), ("hunted", hunted)):
        _until(
            lambda each=each: (
                Counter(e["type"] for e in of_jobs(each.ledger(), ids))["job.completed"] >= JOBS
            )
        )
        told[name] = of_jobs(each.ledger(), ids)

    assert hunted.killed >= 3
    for name, events in told.items():
        counted = Counter(event["type"] for event in events)
        assert {step: counted[step] for step in STEPS} == dict.fromkeys(STEPS, JOBS), name
        for id in ids:
            mine = [e["type"] for e in events if e["data"]["job_id"] == id and e["type"] in STEPS]
            assert mine == list(STEPS), (name, id)
    sets = {name: {(e["type"], e["id"]) for e in events} for name, events in told.items()}
    assert sets["calm"] == sets["hooks"]
    assert sets["hunted"] == sets["hooks"]


def _until(true: Any, timeout: float = 60) -> None:
    give_up = time.monotonic() + timeout
    while not true():
        if time.monotonic() > give_up:
            pytest.fail("it has not come true")
        time.sleep(0.5)

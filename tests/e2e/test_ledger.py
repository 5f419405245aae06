"""The ledger of a real Slurm: the same for whoever looks, however often they die."""

import contextlib
import os
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.cluster import Running, eventually
from tests.watcher import Watcher, ledger

JOBS = int(os.environ.get("CLUSTERRA_E2E_JOBS", "150"))
"""How many short jobs at least; the long form of this test runs a thousand."""

AT_ONCE = 50

STEPS = ("job.submitted", "job.started", "job.completed")


def of_jobs(events: list[dict[str, Any]], ids: set[int]) -> list[dict[str, Any]]:
    return [event for event in events if event["data"].get("job_id") in ids]


@pytest.fixture
def watchers(running: Running, tmp_path: Path) -> Iterator[tuple[Watcher, Watcher]]:
    calm, hunted = Watcher(running, tmp_path / "calm"), Watcher(running, tmp_path / "hunted")
    tmp_path.chmod(0o755)
    for each in (calm, hunted):
        each.begin()
    yield calm, hunted
    for each in (calm, hunted):
        each.kill()


def test_every_job_is_told_once_by_hooks_by_looking_and_by_one_who_dies_all_the_time(
    running: Running, watchers: tuple[Watcher, Watcher]
) -> None:
    calm, hunted = watchers
    hunt = threading.Thread(target=hunted.kill_now_and_then)
    hunt.start()
    ids: set[int] = set()
    with contextlib.closing(running.connection()) as connection, ThreadPoolExecutor(4) as four:

        def over() -> bool:
            return _completed(ledger(connection, running.cluster), ids) >= len(ids)

        while len(ids) < JOBS or hunted.killed < 3:
            assert hunt.is_alive()
            ids.update(four.map(lambda _: running.submit("sleep 0.2"), range(AT_ONCE)))
            eventually("they are over", over, timeout=60 + AT_ONCE)
        told = {"hooks": of_jobs(ledger(connection, running.cluster), ids)}
    hunted.leave_alone()
    hunt.join()
    for name, each in (("calm", calm), ("hunted", hunted)):
        eventually(f"{name} has told of them all", partial(_has_told, each, ids), timeout=60)
        told[name] = of_jobs(each.ledger(), ids)

    for name, events in told.items():
        counted = Counter(event["type"] for event in events)
        assert {step: counted[step] for step in STEPS} == dict.fromkeys(STEPS, len(ids)), name
        for id in ids:
            mine = [e["type"] for e in events if e["data"]["job_id"] == id and e["type"] in STEPS]
            assert mine == list(STEPS), (name, id)
    sets = {name: {(e["type"], e["id"]) for e in events} for name, events in told.items()}
    assert sets["calm"] == sets["hooks"]
    assert sets["hunted"] == sets["hooks"]


def _has_told(watcher: Watcher, ids: set[int]) -> bool:
    return _completed(watcher.ledger(), ids) >= len(ids)


def _completed(events: list[dict[str, Any]], ids: set[int]) -> int:
    return sum(event["type"] == "job.completed" for event in of_jobs(events, ids))

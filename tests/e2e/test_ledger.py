"""The ledger of a real Slurm: the same for whoever looks, however often they die."""

import contextlib
import json
import os
import random
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from clusterra.client.connection import Connection
from tests.cluster import Running

JOBS = int(os.environ.get("CLUSTERRA_E2E_JOBS", "150"))
"""How many short jobs; the long form of this test runs a thousand."""

STEPS = ("job.submitted", "job.started", "job.completed")


@dataclass
class Watcher:
    """Another control plane in front of the same Slurm, without hooks, to be killed at will."""

    running: Running
    state: Path
    process: "subprocess.Popen[bytes] | None" = None
    url: str = ""
    killed: int = 0
    _stop: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.state.mkdir()
        subprocess.run(["chmod", "777", str(self.state)], check=True)
        self.settings = self.state / "settings.toml"
        self.settings.write_text(
            f"""
            [server]
            state = {json.dumps(str(self.state))}
            port = 0
            [[clusters]]
            id = {json.dumps(self.running.cluster)}
            slurm = {json.dumps(self.running.slurm["url"])}
            jwt_key = {json.dumps(str(self.running.path / "etc/slurm/jwt_hs256.key"))}
            service_user = {json.dumps(_service_user(self.running))}
            """
        )
        self.settings.chmod(0o644)

    def start(self) -> None:
        command = [*self.running.land.command, "serve", "--settings", str(self.settings), "--json"]
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | self.running.land.environ,
        )
        assert self.process.stdout is not None
        self.url = json.loads(self.process.stdout.readline())["url"]

    def kill(self) -> None:
        assert self.process is not None
        assert self.process.stdout is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()
        self.killed += 1

    def kill_now_and_then(self) -> None:
        while not self._stop.wait(random.uniform(1.5, 4)):
            self.kill()
            self.start()

    def leave_alone(self) -> None:
        self._stop.set()

    def ledger(self) -> list[dict[str, Any]]:
        token = (self.state / "token").read_text().strip()
        with contextlib.closing(Connection(self.url, token=token)) as connection:
            return ledger(connection, self.running.cluster)


def _service_user(running: Running) -> str:
    text = (running.path / "clusterra.toml").read_text()
    [line] = [line for line in text.splitlines() if line.startswith("service_user")]
    return str(json.loads(line.partition("=")[2]))


def ledger(connection: Connection, cluster: str) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = []
    after = 0
    while True:
        path = f"/v1/clusters/{cluster}/events?limit=1000&after={after}"
        page = json.loads(connection.send("GET", path).body)["events"]
        if not page:
            return events
        events += page
        after = int(page[-1]["sequence"])


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

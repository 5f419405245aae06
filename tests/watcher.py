"""A second control plane in front of a cluster's Slurm, and how a ledger is read whole."""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clusterra.client.connection import Connection
from tests.cluster import CLUSTERRA, Running, eventually


@dataclass
class Watcher:
    """Another control plane in front of the same Slurm, without hooks, to be killed at will."""

    running: Running
    state: Path
    process: "subprocess.Popen[bytes] | None" = None
    url: str = ""
    more: str = ""
    """Further settings of the cluster."""

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
            {self.more}
            """
        )
        self.settings.chmod(0o644)

    def start(self, later: int = 0) -> None:
        """Start it; with a clock that is so many seconds ahead."""
        command = self.running.land.command
        if later:
            assert command == CLUSTERRA
            command = [sys.executable, "-m", "tests.later", str(later)]
        command = [*command, "serve", "--settings", str(self.settings), "--json"]
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | self.running.land.environ,
        )
        assert self.process.stdout is not None
        self.url = json.loads(self.process.stdout.readline())["url"]

    def begin(self) -> None:
        """Start it for the first time, and return when it looks: what was before is none of its own."""
        self.start()
        eventually(
            "it has seen the cluster",
            lambda: any(each["type"] == "cluster.connected" for each in self.ledger()),
        )

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

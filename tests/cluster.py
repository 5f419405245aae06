"""One real cluster for the whole session, started the way a person starts it.

CLUSTERRA_E2E chooses which: `root` (Slurm 26.05, each person their own Linux user), `user`
(the same without root) or `stable` (the fallback, Slurm 24.11). `make e2e` runs all three.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clusterra.client.client import Client
from clusterra.client.connection import Connection
from clusterra.core.jobs.job import HALF_READ
from clusterra.local.processes import children, process
from clusterra.local.rootfs import cache_directory
from clusterra.local.running import DaemonStatus
from clusterra.local.running import Running as RunFile
from clusterra.wire.clusters import NodeView
from clusterra.wire.jobs import JobView

REPOSITORY = Path(__file__).parents[1]
CLUSTERRA = [sys.executable, "-m", "clusterra"]
TESTER = 12_345
"""An ordinary user of no importance, for the cluster that runs without root."""

VARIANT = os.environ.get("CLUSTERRA_E2E") or ("root" if os.geteuid() == 0 else "user")
ENDED = {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "LOST"}

ENDS_IF_IT_RUNS_AGAIN = (
    'echo >> ran-$SLURM_JOB_ID; [ "$(wc -l < ran-$SLURM_JOB_ID)" -ge 2 ] || sleep 600'
)
"""What a job does that is to be running when its cluster ends, and over soon when that is back."""


def eventually(what: str, true: Callable[[], bool], timeout: float = 30) -> None:
    """Return as soon as it is so; fail if it never is."""
    give_up = time.monotonic() + timeout
    while not true():
        if time.monotonic() > give_up:
            pytest.fail(f"still not so: {what}")
        time.sleep(0.05)


def descendants(pid: int) -> set[int]:
    found = set(children(pid))
    return found.union(*(descendants(each) for each in found))


def gone(pids: set[int]) -> bool:
    return all(process(pid) is None for pid in pids)


def _command_line(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except OSError:
        return []


@dataclass
class Land:
    """A place to run clusters from: who runs them, and with which options."""

    home: Path
    options: list[str]
    command: list[str] = field(default_factory=lambda: CLUSTERRA)
    environ: dict[str, str] = field(default_factory=dict)

    def run(
        self, *arguments: str, check: bool = True, stdin: str = "", timeout: float = 300
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [*self.command, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            env=os.environ | self.environ,
        )
        if check and done.returncode:
            pytest.fail(
                f"clusterra {' '.join(arguments)}: {done.returncode}\n{done.stdout}{done.stderr}"
            )
        return done

    def up(self, state: Path, *more: str, workers: int | None = 2) -> "Running":
        """Start a cluster with so many workers; None has them come as jobs need them."""
        fixed = () if workers is None else ("--workers", str(workers))
        done = self.run(
            *("up", "--detach", "--json", "--port", "0", "--state", str(state)),
            *(*self.options, *fixed, *more),
        )
        made = Running(land=self, **json.loads(done.stdout))
        if workers:
            made.nodes(workers)
        return made


@dataclass
class Running:
    """A cluster that is up."""

    land: Land
    url: str
    token_file: str
    cluster: str
    state: str
    pid: int
    slurm: dict[str, str]
    sign_in_url: str
    agent_key: str = ""
    tokens: dict[str, str] = field(default_factory=dict)
    opened: list[Connection] = field(default_factory=list)

    @property
    def path(self) -> Path:
        return Path(self.state)

    def token_of(self, person: str) -> str:
        """Return the token of `person@lab.example`, invited if need be; of the owner for nobody."""
        if not person:
            return Path(self.token_file).read_text().strip()
        if person not in self.tokens:
            invited = self.cli("people", "invite", f"{person}@lab.example", "--token")
            self.tokens[person] = invited.stdout.strip()
        return self.tokens[person]

    def connection(self, person: str = "") -> Connection:
        made = Connection(self.url, token=self.token_of(person))
        self.opened.append(made)
        return made

    def client(self, person: str = "") -> Client:
        return Client(self.connection(person))

    def cli(self, *arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
        return self.land.run(*arguments, "--state", self.state, **more)

    def terminal(
        self, *words: str, person: str = "", check: bool = True, timeout: float = 300
    ) -> subprocess.CompletedProcess[str]:
        """Run `clusterra` as somebody does who has a token, and nothing else of the server."""
        environ = {
            "CLUSTERRA_URL": self.url,
            "CLUSTERRA_TOKEN": self.token_of(person),
            "CLUSTERRA_CLUSTER": self.cluster,
        }
        here = Land(home=self.land.home, options=[], environ=environ)
        return here.run(*words, check=check, timeout=timeout)

    def slurm_says(self, *command: str, check: bool = True) -> str:
        """Run one of Slurm's own commands beside its controller."""
        controller = self.daemon("slurmctld").pid
        inside = ["nsenter", f"--target={controller}", "--mount", "--root", "--"]
        done = subprocess.run([*inside, *command], capture_output=True, text=True, check=False)
        if check and done.returncode:
            pytest.fail(f"{' '.join(command)}: {done.stdout}{done.stderr}")
        return done.stdout

    def said(self) -> str:
        """Return all that a person has been told since it was first started."""
        return (self.path / "up.log").read_text()

    def daemon(self, name: str) -> DaemonStatus:
        found = msgspec.json.decode((self.path / "run.json").read_bytes(), type=RunFile)
        [daemon] = [each for each in found.daemons if each.name == name]
        return daemon

    def crash(self, name: str) -> DaemonStatus:
        """Kill a daemon, and return what it was once it is back."""
        before = self.daemon(name)
        os.kill(before.pid, signal.SIGKILL)

        def is_back() -> bool:
            now = self.daemon(name)
            return now.ready and now.pid != before.pid

        eventually(f"{name} is back", is_back)
        return before

    def slurmd(self, worker: str) -> int:
        """Return the pid of a worker's slurmd, or 0."""
        return self.slurmds().get(worker, 0)

    def slurmds(self) -> dict[str, int]:
        """Return the pid of every worker's slurmd, also of one that is about to end."""
        commands = {pid: _command_line(pid) for pid in descendants(self.pid)}
        return {
            words[words.index("-N") + 1]: pid
            for pid, words in commands.items()
            if words[:1] == ["slurmd"]
        }

    def nodes(self, count: int) -> list[NodeView]:
        """Return the nodes once there are so many: workers join after the control plane is up."""
        client, give_up = self.client(), time.monotonic() + 30
        while len(nodes := client.nodes(self.cluster).nodes) != count:
            if time.monotonic() > give_up:
                pytest.fail(f"still {len(nodes)} nodes")
            time.sleep(0.1)
        return nodes

    def close(self) -> None:
        for connection in self.opened:
            connection.close()

    def down(self) -> None:
        self.close()
        self.land.run("down", "--state", self.state)

    def wait(
        self, job_id: int | str, *, until: Callable[[JobView], bool], timeout: float = 60
    ) -> JobView:
        """Return the job as soon as it is so; fail with what it was instead."""
        client = self.client()
        give_up = time.monotonic() + timeout
        while not until(view := client.job(self.cluster, str(job_id))):
            if time.monotonic() > give_up:
                story = self.cli("jobs", "timeline", str(job_id), check=False).stdout
                pytest.fail(f"job {job_id} is still {view}\n{story}")
            time.sleep(0.1)
        return view

    def wait_ended(self, job_id: int | str, timeout: float = 60) -> JobView:
        """Return the job once it has ended and all of it is known: where many end at once, states
        are seen before the rest."""
        return self.wait(
            job_id,
            until=lambda view: view.state in ENDED and HALF_READ not in view.flags,
            timeout=timeout,
        )

    def submit(self, script: str, *, person: str = "", **wishes: Any) -> int:
        body = {"script": f"#!/bin/bash\n{script}\n", **wishes}
        return int(self.submit_body(json.dumps(body).encode(), person=person)["job_id"])

    def submit_body(self, body: bytes, *, person: str = "", key: str = "") -> dict[str, Any]:
        path = f"/v1/clusters/{self.cluster}/jobs/submit"
        headers = {"Idempotency-Key": key} if key else {}
        reply = self.connection(person).send("POST", path, body, headers)
        answer: dict[str, Any] = json.loads(reply.body)
        return answer


def new_land(tmp: Path, variant: str = VARIANT) -> Land:
    if variant == "stable":
        return Land(home=tmp, options=["--suite", "trixie"])
    if variant == "root" or os.geteuid() != 0:
        return Land(home=tmp, options=[])
    return _land_of_the_tester(tmp)


def _land_of_the_tester(tmp: Path) -> Land:
    """Make a place for an ordinary user, who can read nothing of root's: so they get copies."""
    subprocess.run([*CLUSTERRA, "rootfs"], check=True, capture_output=True)
    [built] = [path for path in cache_directory(os.environ).glob("slurm-forky-*") if path.is_dir()]
    # Not shutil: there are devices in it, and one of them is /dev/zero.
    subprocess.run(["cp", "-a", str(built), str(tmp / "rootfs")], check=True)
    packages = Path(sysconfig.get_path("purelib"))
    shutil.copytree(packages, tmp / "python", ignore=shutil.ignore_patterns(*NOT_NEEDED))
    shutil.copytree(REPOSITORY / "src/clusterra", tmp / "python/clusterra")
    shutil.copytree(REPOSITORY / "catalog", tmp / "python/clusterra/catalog")
    home = tmp / "home"
    home.mkdir()
    for opened in (tmp, *tmp.parents[:3]):
        opened.chmod(opened.stat().st_mode | 0o055)
    os.chown(home, TESTER, TESTER)
    return Land(
        home=home,
        options=["--rootfs", str(tmp / "rootfs")],
        command=[
            *("setpriv", f"--reuid={TESTER}", f"--regid={TESTER}", "--clear-groups"),
            *("env", f"HOME={home}", "USER=tester", "LOGNAME=tester"),
            *(_python_for_everybody(), "-m", "clusterra"),
        ],
        environ={
            "PYTHONPATH": str(tmp / "python"),
            "XDG_CACHE_HOME": str(home / "cache"),
            "XDG_DATA_HOME": str(home / "data"),
        },
    )


NOT_NEEDED = (
    "mypy*",
    "uv",
    "uv-*",
    "playwright*",
    "hypothesis*",
    "pip*",
    "ruff*",
    "clusterra*",
    "__editable__*",
    "*.pth",
)


def _python_for_everybody() -> str:
    """Return a Python like ours that every user may run; ours may lie in root's home."""
    for python in (Path(sys.executable).resolve(), Path("/usr/bin/python3").resolve()):
        like_ours = f"python{sys.version_info.major}.{sys.version_info.minor}" == python.name
        if like_ours and all(parent.stat().st_mode & 0o001 for parent in python.parents):
            return str(python)
    pytest.skip("No Python of this version can be run by other users than root.")


@pytest.fixture(scope="session")
def land(tmp_path_factory: pytest.TempPathFactory) -> Land:
    return new_land(tmp_path_factory.mktemp("land"))


@pytest.fixture(scope="session")
def running(land: Land) -> Iterator[Running]:
    made = land.up(land.home / "state")
    yield made
    made.down()


@pytest.fixture(scope="session")
def needs_root() -> None:
    if VARIANT == "user":
        pytest.skip("Without root every job runs as one Linux user; this is about several.")

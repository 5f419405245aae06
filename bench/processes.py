"""Starting what is measured, and leaving nothing of it behind.

The control plane is the real one, started as a person starts it; in front of it
stands either the replay or a real Slurm. Everything here is a context manager: it is
stopped, and its directory removed, however the measurement ends.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.keepalive import KeepAlive

CLUSTERRA = [sys.executable, "-m", "clusterra"]
REPOSITORY = Path(__file__).parents[1]
PATIENCE = 180
"""Seconds a start may take before something must be wrong."""


@contextmanager
def scratch() -> Iterator[Path]:
    # Ignoring errors: a daemon's last breath may put a file into a directory being removed.
    with tempfile.TemporaryDirectory(prefix="clusterra-bench-", ignore_cleanup_errors=True) as made:
        yield Path(made)


def clean_environment(**more: str) -> dict[str, str]:
    """Return our environment as an ordinary person's: without settings for another cluster, and
    with compiled modules kept, which a developer or a container may have turned off."""
    ours = {name: text for name, text in os.environ.items() if not name.startswith("CLUSTERRA_")}
    ours.pop("PYTHONDONTWRITEBYTECODE", None)
    return ours | more


def until(true: Callable[[], bool], *, every: float = 0.02) -> None:
    give_up = time.monotonic() + PATIENCE
    while not true():
        if time.monotonic() > give_up:
            raise TimeoutError(f"Nothing came of it within {PATIENCE} s.")
        time.sleep(every)


@contextmanager
def _child(arguments: list[str], **more: Any) -> Iterator[subprocess.Popen[str]]:
    # A session of its own: Ctrl-C is for us, who then stop it in order.
    child = subprocess.Popen(
        arguments,
        stdout=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
        start_new_session=True,
        **more,
    )
    try:
        yield child
    finally:
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                pipe.close()
        child.terminate()
        try:
            child.wait(15)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """A stand-in slurmrestd that runs."""

    url: str

    def counts(self) -> tuple[dict[str, int], int]:
        """Return the calls so far by path, and the bytes sent."""
        with KeepAlive(self.url) as client:
            counted = json.loads(client.get("/counts").body)
        return counted["calls"], counted["bytes"]

    def looks(self) -> int:
        return self.counts()[0].get("/slurm/jobs/state", 0)

    def past_read(self) -> None:
        """Wait until the control plane has read the past, which it does once, in daily pieces."""
        days, since = 0, time.monotonic()

        def no_more() -> bool:
            nonlocal days, since
            read = self.counts()[0].get("/slurmdb/jobs", 0)
            if read > days:
                days, since = read, time.monotonic()
            return days > 0 and time.monotonic() - since > 1

        until(no_more, every=0.1)


@contextmanager
def replay(jobs: int, *, idle: bool = False, nodes: int = 100) -> Iterator[Replayed]:
    arguments = ["--jobs", str(jobs), "--nodes", str(nodes), *(["--idle"] if idle else [])]
    program = [sys.executable, "-m", "bench.replay", *arguments]
    with _child(program, stdin=subprocess.PIPE) as child:
        assert child.stdout is not None
        port = child.stdout.readline().strip()
        if not port:
            raise RuntimeError("The replay did not start; what it said is above.")
        yield Replayed(url=f"http://127.0.0.1:{port}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plane:
    """A control plane that runs."""

    url: str
    token: str
    cluster: str
    pid: int
    state: Path

    @property
    def jobs(self) -> str:
        return f"/v1/clusters/{self.cluster}/jobs"

    def client(self) -> KeepAlive:
        return KeepAlive(self.url, {"authorization": f"Bearer {self.token}"})

    def ready(self) -> bool:
        with self.client() as client:
            return client.get("/readyz").status == 200

    def memory_mb(self, line: str) -> float:
        """Return `VmRSS`, what it uses now, or `VmHWM`, the most it ever used."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        [kib] = [each.split()[1] for each in status.splitlines() if each.startswith(line)]
        return int(kib) * 1024 / 1e6


@contextmanager
def control_plane(slurm: str, *, settings: Mapping[str, str]) -> Iterator[Plane]:
    """Run the control plane in front of a slurmrestd; it may not have seen it yet."""
    with scratch() as home:
        key = home / "jwt_hs256.key"
        key.write_bytes(os.urandom(32))
        environ = clean_environment(**settings)
        options = ["--slurm", slurm, "--jwt-key", str(key), "--state", str(home / "state")]
        program = [*CLUSTERRA, "serve", *options, "--port", "0", "--json"]
        log = home / "serve.log"
        with log.open("wb") as stderr, _child(program, env=environ, stderr=stderr) as child:
            assert child.stdout is not None
            said = child.stdout.readline()
            if not said:
                raise RuntimeError(f"The control plane did not start: {log.read_text()[-500:]}")
            yield plane_from(json.loads(said))


def plane_from(announced: dict[str, Any]) -> Plane:
    return Plane(
        url=announced["url"],
        token=Path(announced["token_file"]).read_text().strip(),
        cluster=announced["cluster"],
        pid=announced["pid"],
        state=Path(announced["state"]),
    )


@contextmanager
def stoppable() -> Iterator[None]:
    """Let SIGTERM end us the way Ctrl-C does: with everything put away."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A module of ours that runs, and answers each line of JSON with another."""

    child: subprocess.Popen[str]
    begun: Any
    """What it said first."""

    def ask(self, **what: Any) -> Any:
        assert self.child.stdin is not None
        self.child.stdin.write(json.dumps(what) + "\n")
        self.child.stdin.flush()
        return _heard(self.child)


@contextmanager
def asked(module: str, *arguments: str) -> Iterator[Asked]:
    program = [sys.executable, "-m", module, *arguments]
    with _child(program, stdin=subprocess.PIPE, env=clean_environment()) as child:
        yield Asked(child=child, begun=_heard(child))


def _heard(child: subprocess.Popen[str]) -> Any:
    assert child.stdout is not None
    line = child.stdout.readline()
    if not line:
        raise RuntimeError(f"{child.args} ended; what it said is above.")  # type: ignore[str-bytes-safe]
    return json.loads(line)

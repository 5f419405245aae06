"""The process people see: it holds the guard, tells what happens, and its end is the cluster's end.

It keeps `run.json` true while the cluster runs. It starts no daemon itself; if
it is killed outright, the guard notices and stops everything in order.
"""

import os
import selectors
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from clusterra.core.errors import Refused
from clusterra.local.child import open_log
from clusterra.local.guard import Report
from clusterra.local.plan import Daemon, Plan
from clusterra.local.processes import children, pid_outside, process
from clusterra.local.running import DaemonStatus, Running
from clusterra.local.state import State, write
from clusterra.local.tell import Teller


@dataclass(slots=True, kw_only=True)
class Supervisor:
    state: State
    plan: Plan
    running: Running
    teller: Teller
    lock: int
    """Descriptor of the state's lock, shared with the guard."""
    _daemons: dict[str, DaemonStatus] = field(default_factory=dict)
    _crashed: dict[str, float] = field(default_factory=dict)
    """When the daemons that are away went."""
    _guard: subprocess.Popen[bytes] | None = None
    _stops_asked: int = 0
    _stopping_since: float = 0
    _begun: float = 0
    _failure: Report | None = None
    _is_up: bool = False

    def run(self) -> None:
        """Start the cluster and stay until it has ended. Raises Refused if it could not start."""
        signals = _signals()
        self._guard = guard = self._spawn()
        assert guard.stdin is not None
        assert guard.stdout is not None
        guard.stdin.write(msgspec.json.encode(self.plan) + b"\n")
        with suppress(BrokenPipeError):  # it could not even start, and will be heard to have ended
            guard.stdin.flush()
        self._begun = time.monotonic()
        with selectors.DefaultSelector() as selector:
            selector.register(guard.stdout, selectors.EVENT_READ)
            selector.register(signals, selectors.EVENT_READ)
            heard = b""
            while True:
                ready = {key.fd for key, _ in selector.select()}
                if signals in ready:
                    for number in os.read(signals, 4096):
                        self._on_signal(number)
                if guard.stdout.fileno() in ready:
                    chunk = os.read(guard.stdout.fileno(), 65536)
                    if not chunk:
                        break
                    *lines, heard = (heard + chunk).split(b"\n")
                    for line in lines:
                        self._hear(msgspec.json.decode(line, type=Report))
        guard.wait()
        self.state.run.unlink(missing_ok=True)
        self._conclude(guard.returncode)

    def _spawn(self) -> subprocess.Popen[bytes]:
        with open_log(str(self.state.log("guard"))) as log:
            return subprocess.Popen(
                [
                    *namespaces(single=bool(self.running.single_user)),
                    sys.executable,
                    "-m",
                    "clusterra.local.guard",
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                # Ctrl-C is for us alone; we stop the others in order.
                start_new_session=True,
                pass_fds=(self.lock,),
            )

    def _hear(self, report: Report) -> None:
        match report.what:
            case "started":
                self._note_start(report)
            case "ready":
                self._note_ready(report)
            case "up":
                self._is_up = True
                self._publish()
                self.teller.up(self.running)
            case "crashed":
                self._crashed.setdefault(report.daemon, time.monotonic())
                self.teller.trouble(
                    f"{report.daemon} {report.why}; starting it again in {report.seconds:.1f} s"
                )
            case "opened":
                self._note_missing(report)
            case "failed":
                self._failure = report
            case _:
                pass

    def _note_start(self, report: Report) -> None:
        assert self._guard is not None
        inside = children(self._guard.pid)
        logs = {each.name: each.log for stage in self.plan.stages for each in stage.daemons}
        self._daemons[report.daemon] = DaemonStatus(
            name=report.daemon,
            pid=pid_outside(inside[0], report.pid) if inside else 0,
            since=time.time(),
            log=logs[report.daemon],
            restarts=report.restarts,
        )
        if self._is_up:
            self._publish()

    def _note_ready(self, report: Report) -> None:
        was = self._daemons[report.daemon]
        self._daemons[report.daemon] = replace(was, ready=True)
        if (crashed := self._crashed.pop(report.daemon, None)) is not None:
            away = time.monotonic() - crashed
            self.teller.trouble(f"{report.daemon} is back after {away:.1f} s")
        if self._is_up:
            self._publish()
            return
        title = next(
            stage.title
            for stage in self.plan.stages
            if report.daemon in {each.name for each in stage.daemons}
        )
        if all(self._is_ready(each.name) for each in self._called(title)):
            now = time.monotonic()
            self.teller.done(title, now - self._begun)
            self._begun = now

    def _note_missing(self, report: Report) -> None:
        for daemon in report.daemon.split(", "):
            self._crashed.setdefault(daemon, time.monotonic() - report.seconds)
        self.teller.trouble(
            f"jobs start again without {report.daemon}, "
            f"which did not come back within {report.seconds:.0f} s"
        )

    def _called(self, title: str) -> list[Daemon]:
        return [
            each for stage in self.plan.stages if stage.title == title for each in stage.daemons
        ]

    def _is_ready(self, name: str) -> bool:
        return name in self._daemons and self._daemons[name].ready

    def _publish(self) -> None:
        me = process(os.getpid())
        assert me is not None
        self.running = replace(
            self.running, pid=me.pid, started=me.started, daemons=tuple(self._daemons.values())
        )
        write(self.state.run, msgspec.json.encode(self.running))

    def _on_signal(self, number: int) -> None:
        if number not in _STOP_SIGNALS:
            return
        assert self._guard is not None
        self._stops_asked += 1
        if self._stops_asked > 1:
            # The process between us and the guard takes the guard with it, and the
            # kernel everything in the guard's namespace.
            self._guard.kill()
            return
        self._stopping_since = time.monotonic()
        self.teller.stopping()
        if self._guard.stdin is not None:
            with suppress(BrokenPipeError):
                self._guard.stdin.close()

    def _conclude(self, code: int) -> None:
        if self._stops_asked:
            self.teller.stopped(time.monotonic() - self._stopping_since)
        elif self._failure is not None:
            log = self.state.log(self._failure.daemon)
            raise Refused(
                f"{self._failure.daemon} {self._failure.why}.{_tail(log)}",
                hint=f"Its whole log: {log}\nSee what is missing with: clusterra doctor",
            )
        else:
            log = self.state.log("guard")
            raise Refused(
                f"The guard of the cluster ended with code {code}, and everything with it."
                f"{_tail(log)}",
                hint="See what is missing with: clusterra doctor",
            )


def namespaces(*, single: bool) -> list[str]:
    """Return the command that runs another in namespaces of its own."""
    return [
        "unshare",
        *(["--user", "--map-root-user"] if single else []),
        *("--mount", "--pid", "--fork", "--kill-child", "--mount-proc"),
    ]


def _tail(log: Path, lines: int = 8) -> str:
    try:
        last = log.read_text(errors="replace").splitlines()[-lines:]
    except OSError:
        return ""
    return "".join(f"\n  {line}" for line in last)


_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _signals() -> int:
    """Return a descriptor from which the numbers of arriving signals can be read."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for number in _STOP_SIGNALS:
        signal.signal(number, lambda *_: None)
    return reading

"""Process 1 of an embedded cluster: mounts, starts, probes, restarts, stops.

It is told what to do by a plan on the first line of its standard input, and
told to stop by the end of that input: so a supervisor that is killed outright
says the same as one that asks. Either way the stages stop in reverse, slurmctld
saves its queue, and with the end of this process the kernel ends whatever is
left in its process namespace.

What happens is said as JSON lines on standard output; nobody listening is fine.
"""

import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import msgspec

from clusterra.local.daemons import Command, Daemon, Mount, Plan
from clusterra.local.probe import answers

TICK = 0.02
"""Seconds between two looks while something is starting."""
STOP_PATIENCE = 15
"""slurmctld has been seen to take 10 s to save and stop."""
STEADY = 1
"""Seconds a daemon has to have been up before its earlier ends no longer delay its next start."""
FIRST_TRIES = 2
"""How often a daemon may end before it was ever ready; then the start is given up."""
QUESTION_PATIENCE = 5
"""Seconds a command that asks whether something is ready may take."""
BIG_LOG = 20_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One line of what the guard says."""

    what: str
    """started · ready · up · crashed · failed · stopping · stopped"""
    daemon: str = ""
    pid: int = 0
    seconds: float = 0
    restarts: int = 0
    why: str = ""


@dataclass(slots=True, kw_only=True)
class Child:
    """A daemon and how it is doing."""

    daemon: Daemon
    process: subprocess.Popen[bytes] | None = None
    since: float = 0
    ready: bool = False
    was_ready: bool = False
    restarts: int = 0
    failures: int = 0
    """Ends in a row, each soon after its start."""
    due: float = 0
    """When to start it, while it does not run."""
    leaving: bool = False
    """Was told to end because the daemon it follows did."""


def backoff(failures: int) -> float:
    """Return how long to wait before the next start: 0.2 s, doubling, never over 30 s."""
    return min(0.1 * 2.0**failures, 30.0)


class Guard:
    def __init__(self, plan: Plan, say: Callable[[Report], None]) -> None:
        self._say = say
        self._stages = [[Child(daemon=daemon) for daemon in stage.daemons] for stage in plan.stages]
        self._children = [child for stage in self._stages for child in stage]
        followed = {child.daemon.follows for child in self._children} - {""}
        self._closing = [
            child
            for child in self._children
            if child.daemon.follows or child.daemon.name in followed
        ]
        """Those whose crash closes the cluster to new work until they are back."""
        self._stop_asked = False
        self._settling = plan.settling
        self._opening = plan.opening
        self._failed = ""
        self._is_open = False
        self._was_open = False

    def run(self) -> int:
        """Keep the plan true until told to stop."""
        with selectors.DefaultSelector() as wake:
            wake.register(sys.stdin.buffer, selectors.EVENT_READ, self._on_input)
            wake.register(_signals(), selectors.EVENT_READ, _drain)
            while not (self._stop_asked or self._failed):
                self._reap()
                self._start_due()
                self._probe()
                for key, _ in wake.select(self._pause()):
                    key.data(key.fileobj)
        self._stop()
        return 1 if self._failed else 0

    def ask_to_stop(self) -> None:
        self._stop_asked = True

    def _on_input(self, _: object) -> None:
        if not os.read(sys.stdin.fileno(), 4096):
            self.ask_to_stop()

    def _start_due(self) -> None:
        now = time.monotonic()
        for stage in self._stages:
            for child in stage:
                if child.process is None and child.due <= now and self._may_start(child):
                    self._start(child)
            if not all(child.was_ready for child in stage):
                return

    def _may_start(self, child: Child) -> bool:
        return all(
            each.ready for each in self._children if each.daemon.name == child.daemon.follows
        )

    def _start(self, child: Child) -> None:
        daemon = child.daemon
        argv = daemon.argv if child.was_ready else (*daemon.argv, *daemon.only_first)
        with open_log(daemon.log) as log:
            child.process = subprocess.Popen(
                argv,
                env=dict(daemon.env),
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        child.since, child.ready = time.monotonic(), False
        self._say(
            Report(
                what="started", daemon=daemon.name, pid=child.process.pid, restarts=child.restarts
            )
        )

    def _probe(self) -> None:
        for child in self._children:
            if child.process is None or child.ready:
                continue
            took = time.monotonic() - child.since
            if answers(child.daemon.ready) and (
                child.daemon.also is None or _succeeds(child.daemon.also)
            ):
                child.ready = child.was_ready = True
                self._say(
                    Report(
                        what="ready",
                        daemon=child.daemon.name,
                        seconds=took,
                        restarts=child.restarts,
                    )
                )
            elif took > child.daemon.patience and not child.was_ready:
                self._give_up(child, f"was not ready after {child.daemon.patience:.0f} s")
        started = all(child.was_ready for child in self._children)
        if started and not self._is_open and all(child.ready for child in self._closing):
            self._open()

    def _open(self) -> None:
        """Let work in: everything is ready for the first time, or those who closed are back."""
        if self._settling is not None:
            if not _succeeds(self._settling):
                return
            self._settling = None
        if self._opening is not None and not _succeeds(self._opening):
            return
        self._is_open = True
        if not self._was_open:
            self._was_open = True
            self._say(Report(what="up"))

    def _reap(self) -> Iterable[Child]:
        """Take leave of ended processes: our daemons, and orphans left by jobs."""
        ended = []
        while (status := _any_ended()) is not None:
            pid, code = status
            for child in self._children:
                if child.process is not None and child.process.pid == pid:
                    child.process.returncode = code
                    child.process = None
                    ended.append(child)
                    if not self._stop_asked and not self._failed:
                        self._ended(child, code)
        return ended

    def _ended(self, child: Child, code: int) -> None:
        was_steady = child.ready and time.monotonic() - child.since > STEADY
        child.ready = False
        if child.leaving:
            child.leaving = False
            return
        child.failures = 1 if was_steady else child.failures + 1
        for each in self._children:
            if each.daemon.follows == child.daemon.name:
                self._is_open = False
                each.leaving = each.process is not None
                _signal(each, signal.SIGTERM)
        if not child.was_ready and child.failures >= FIRST_TRIES:
            self._give_up(child, describe(code))
            return
        wait = backoff(child.failures)
        child.restarts += 1
        child.due = time.monotonic() + wait
        self._say(
            Report(
                what="crashed",
                daemon=child.daemon.name,
                why=describe(code),
                seconds=wait,
                restarts=child.restarts,
            )
        )

    def _give_up(self, child: Child, why: str) -> None:
        self._failed = why
        self._say(Report(what="failed", daemon=child.daemon.name, why=why))

    def _pause(self) -> float | None:
        """Return how long nothing can need doing; None is until something happens."""
        if self._is_open and all(child.ready for child in self._children):
            return None
        if any(child.process is not None and not child.ready for child in self._children):
            return TICK
        waits = [each.due - time.monotonic() for each in self._children if each.process is None]
        return max(min(waits, default=10 * TICK), TICK)

    def _stop(self) -> None:
        for stage in reversed(self._stages):
            begun = time.monotonic()
            alive = [child for child in stage if child.process is not None]
            for child in alive:
                self._say(Report(what="stopping", daemon=child.daemon.name))
                _signal(child, signal.SIGTERM)
            while any(child.process is not None for child in alive):
                took = time.monotonic() - begun
                for child in self._reap():
                    self._say(Report(what="stopped", daemon=child.daemon.name, seconds=took))
                if took > STOP_PATIENCE:
                    for child in alive:
                        _signal(child, signal.SIGKILL)
                time.sleep(TICK / 4)


def describe(code: int) -> str:
    """Put an exit code as `subprocess` has it into words."""
    return f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"


def open_log(path: str) -> BinaryIO:
    """Open a log for appending; one that grew big is set aside first."""
    log = Path(path)
    with suppress(FileNotFoundError):
        if log.stat().st_size > BIG_LOG:
            log.replace(f"{path}.1")
    return log.open("ab")


def mount_all(plan: Plan) -> None:
    """Lay the cluster's own directories over a root file system nobody can write to."""
    _mount("--bind", plan.rootfs, plan.rootfs)
    # Refused in a user namespace on a file system that was itself mounted with restrictions;
    # then the daemons' good manners have to do.
    subprocess.run(["mount", "-o", "remount,bind,ro", plan.rootfs], check=False)
    for each in plan.mounts:
        _bind(each)


def _bind(mount: Mount) -> None:
    _mount("--rbind" if mount.recursive else "--bind", mount.source, mount.target)


def _mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True)


def _succeeds(command: Command) -> bool:
    quiet = subprocess.DEVNULL
    try:
        run = subprocess.run(
            command.argv,
            env=dict(command.env),
            cwd="/",
            stdin=quiet,
            stdout=quiet,
            stderr=quiet,
            timeout=QUESTION_PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    return run.returncode == 0


def _any_ended() -> tuple[int, int] | None:
    try:
        pid, status = os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return None
    return (pid, os.waitstatus_to_exitcode(status)) if pid else None


def _signal(child: Child, number: signal.Signals) -> None:
    if child.process is not None:
        os.kill(child.process.pid, number)


def _signals() -> int:
    """Return a descriptor that becomes readable with every signal, so that no select sleeps on."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return reading


def _drain(descriptor: int) -> None:
    os.read(descriptor, 4096)


def _say(report: Report) -> None:
    with suppress(BrokenPipeError):
        os.write(1, msgspec.json.encode(report) + b"\n")


def main() -> int:
    os.umask(0o022)
    plan = msgspec.json.decode(sys.stdin.buffer.readline(), type=Plan)
    try:
        mount_all(plan)
    except subprocess.CalledProcessError as error:
        _say(Report(what="failed", daemon="mount", why=f"`{' '.join(error.cmd)}` did not work"))
        return 1
    guard = Guard(plan, _say)
    signal.signal(signal.SIGTERM, lambda *_: guard.ask_to_stop())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return guard.run()


if __name__ == "__main__":
    sys.exit(main())

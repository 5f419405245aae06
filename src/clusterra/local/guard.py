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
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

import msgspec

from clusterra.local.child import TICK, Child, succeeds
from clusterra.local.gate import Gate
from clusterra.local.mounts import mount_all
from clusterra.local.plan import Command, Plan

STEADY = 1
"""Seconds a daemon has to have been up before its earlier ends no longer delay its next start."""
FIRST_TRIES = 2
"""How often a daemon may end before it was ever ready; then the start is given up."""
PATIENCE = 60
"""Seconds that what comes before a stage may take to succeed before the start is given up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One line of what the guard says."""

    what: str
    """started · ready · up · opened · crashed · failed · stopping · stopped"""
    daemon: str = ""
    """Which one it is about; several, with commas, for those it opened without."""
    pid: int = 0
    seconds: float = 0
    restarts: int = 0
    why: str = ""


def backoff(failures: int) -> float:
    """Return how long to wait before the next start: 0.2 s, doubling, never over 30 s."""
    return min(0.1 * 2.0**failures, 30.0)


@dataclass(slots=True, kw_only=True)
class _Stage:
    children: list[Child]
    first: Command | None
    """What is still to be done before any of them is started."""
    first_tried: float = 0
    """When that was first tried."""

    @property
    def was_ready(self) -> bool:
        return all(child.was_ready for child in self.children)


class Guard:
    def __init__(self, plan: Plan, say: Callable[[Report], None]) -> None:
        self._say = say
        self._stages = [
            _Stage(
                children=[Child(daemon=daemon) for daemon in stage.daemons],
                first=stage.first,
            )
            for stage in plan.stages
        ]
        self._children = [child for stage in self._stages for child in stage.children]
        self._gate = Gate(plan=plan, children=self._children)
        self._stop_asked = False
        self._failed = ""

    def run(self) -> int:
        """Keep the plan true until told to stop."""
        with selectors.DefaultSelector() as wake:
            wake.register(sys.stdin.buffer, selectors.EVENT_READ, self._on_input)
            wake.register(_signals(), selectors.EVENT_READ, _drain)
            while not (self._stop_asked or self._failed):
                self._reap()
                self._prepare()
                self._start_due()
                self._probe()
                self._open()
                for key, _ in wake.select(self._pause()):
                    key.data(key.fileobj)
        self._stop()
        return 1 if self._failed else 0

    def ask_to_stop(self) -> None:
        self._stop_asked = True

    def _on_input(self, _: object) -> None:
        if not os.read(sys.stdin.fileno(), 4096):
            self.ask_to_stop()

    def _prepare(self) -> None:
        """Do what comes before the next stage, once all before it is ready."""
        for stage in self._stages:
            if stage.first is not None:
                stage.first_tried = stage.first_tried or time.monotonic()
                if succeeds(stage.first):
                    stage.first = None
                elif time.monotonic() - stage.first_tried > PATIENCE:
                    name = stage.children[0].daemon.name
                    self._give_up(name, f"could not be prepared for within {PATIENCE} s")
            if stage.first is not None or not stage.was_ready:
                return

    def _start_due(self) -> None:
        now = time.monotonic()
        for child in list(self._startable()):
            if child.due <= now:
                self._start(child)

    def _startable(self) -> Iterator[Child]:
        """Yield those that do not run and need wait for nobody but their own turn."""
        for stage in self._stages:
            if stage.first is not None:
                return
            yield from (
                child
                for child in stage.children
                if child.process is None and self._leader_is_ready(child)
            )
            if not stage.was_ready:
                return

    def _leader_is_ready(self, child: Child) -> bool:
        return all(
            each.ready for each in self._children if each.daemon.name == child.daemon.follows
        )

    def _start(self, child: Child) -> None:
        pid = child.start()
        self._say(
            Report(what="started", daemon=child.daemon.name, pid=pid, restarts=child.restarts)
        )

    def _probe(self) -> None:
        for child in self._children:
            child.kill_if_it_stays()
            if not child.is_starting:
                continue
            took = time.monotonic() - child.since
            if child.answers():
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
                self._give_up(
                    child.daemon.name, f"was not ready after {child.daemon.patience:.0f} s"
                )

    def _open(self) -> None:
        opened = self._gate.open()
        if opened is None:
            return
        if opened.first:
            self._say(Report(what="up"))
        if opened.without:
            self._say(
                Report(
                    what="opened",
                    daemon=", ".join(opened.without),
                    seconds=self._gate.plan.opening_patience,
                )
            )

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
        if child.told_to_end is not None:
            return
        was_steady = child.ready and time.monotonic() - child.since > STEADY
        child.ready = False
        child.failures = 1 if was_steady else child.failures + 1
        self._gate.close_for(child)
        for each in self._children:
            if each.daemon.follows == child.daemon.name:
                each.end()
        if not child.was_ready and child.failures >= FIRST_TRIES:
            self._give_up(child.daemon.name, describe(code))
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

    def _give_up(self, daemon: str, why: str) -> None:
        self._failed = why
        self._say(Report(what="failed", daemon=daemon, why=why))

    def _pause(self) -> float | None:
        """Return how long nothing can need doing; None is until something happens."""
        running = (child for child in self._children if child.process is not None)
        looks = [child.next_look() for child in running if not child.ready]
        looks += [child.next_look() for child in self._startable()]
        if not self._gate.is_open:
            looks.append(self._gate.next_look())
        return max(min(looks), TICK) if looks else None

    def _stop(self) -> None:
        for stage in reversed(self._stages):
            begun = time.monotonic()
            alive = [child for child in stage.children if child.process is not None]
            for child in alive:
                self._say(Report(what="stopping", daemon=child.daemon.name))
                child.end()
            while any(child.process is not None for child in alive):
                took = time.monotonic() - begun
                for child in self._reap():
                    self._say(Report(what="stopped", daemon=child.daemon.name, seconds=took))
                for child in alive:
                    child.kill_if_it_stays()
                time.sleep(TICK / 4)


def describe(code: int) -> str:
    """Put an exit code as `subprocess` has it into words."""
    return f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"


def _any_ended() -> tuple[int, int] | None:
    try:
        pid, status = os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return None
    return (pid, os.waitstatus_to_exitcode(status)) if pid else None


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

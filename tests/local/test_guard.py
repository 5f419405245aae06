"""The guard with daemons of a few lines, in namespaces of its own as it always runs."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clusterra.local.guard import backoff
from clusterra.local.plan import Command, Daemon, Plan, Stage
from clusterra.local.processes import children, pid_outside, process
from clusterra.local.supervisor import namespaces

pytestmark = pytest.mark.e2e

LISTEN = "import socket, signal; s = socket.socket(socket.AF_UNIX); s.bind(r'{}'); s.listen(); "
STAY = "signal.pause()"
STUBBORN = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: signal.pause()"


@dataclass
class Watched:
    """A running guard and what it has said."""

    process: subprocess.Popen[bytes]
    said: list[dict[str, Any]] = field(default_factory=list)

    def until(self, what: str, daemon: str = "") -> dict[str, Any]:
        assert self.process.stdout is not None
        give_up = threading.Timer(60, self.process.kill)
        give_up.start()
        try:
            for raw in self.process.stdout:
                self.said.append(json.loads(raw))
                if self.said[-1]["what"] == what and self.said[-1]["daemon"] in {daemon, ""}:
                    return self.said[-1]
        finally:
            give_up.cancel()
        pytest.fail(f"the guard never said {what}: {self.said}")

    def outside(self, daemon: str) -> int:
        """Return the daemon's pid as we see it."""
        inner = [
            each["pid"]
            for each in self.said
            if each["what"] == "started" and each["daemon"] == daemon
        ]
        [guard] = children(self.process.pid)
        return pid_outside(guard, inner[-1])

    def told(self, what: str) -> list[str]:
        return [each["daemon"] for each in self.said if each["what"] == what]

    def end(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.stdout is not None
        self.said += [json.loads(raw) for raw in self.process.stdout]
        return self.process.wait(timeout=30)


Start = Callable[..., Watched]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    begun: list[Watched] = []
    (tmp_path / "rootfs").mkdir()

    def started(*stages: tuple[Daemon, ...], first: Command | None = None, **more: Any) -> Watched:
        """Start a guard; `first` is what comes before its last stage."""
        *before, last = (Stage(title="", daemons=each) for each in stages)
        plan = Plan(
            rootfs=str(tmp_path / "rootfs"),
            mounts=(),
            stages=(*before, replace(last, first=first)),
            **more,
        )
        guard = subprocess.Popen(
            [*namespaces(single=os.geteuid() != 0), sys.executable, "-m", "clusterra.local.guard"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert guard.stdin is not None
        guard.stdin.write(msgspec.json.encode(plan) + b"\n")
        guard.stdin.flush()
        begun.append(Watched(guard))
        return begun[-1]

    yield started
    for each in begun:
        each.process.kill()
        each.process.wait()
        for pipe in (each.process.stdin, each.process.stdout):
            if pipe is not None:
                pipe.close()


def daemon(
    directory: Path, name: str, code: str = STAY, *, before: str = "", **more: Any
) -> Daemon:
    """Answer on a socket, then do as `code` says."""
    socket = directory / f"{name}.sock"
    fresh = f"import pathlib; pathlib.Path(r'{socket}').unlink(missing_ok=True); "
    return Daemon(
        name=name,
        argv=(sys.executable, "-c", before + fresh + LISTEN.format(socket) + code),
        env={"PATH": os.environ["PATH"]},
        log=str(directory / f"{name}.log"),
        ready=f"unix://{socket}",
        **more,
    )


def gone(pid: int) -> bool:
    return process(pid) is None


def eventually(true: Callable[[], bool]) -> None:
    give_up = time.monotonic() + 20
    while not true():
        assert time.monotonic() < give_up
        time.sleep(0.02)


def test_stages_start_in_order_and_stop_in_reverse(start: Start, tmp_path: Path) -> None:
    guard = start((daemon(tmp_path, "a"),), (daemon(tmp_path, "b"), daemon(tmp_path, "c")))
    guard.until("up")

    assert guard.end() == 0

    events = [(each["what"], each["daemon"]) for each in guard.said]
    assert events.index(("ready", "a")) < events.index(("started", "b"))
    assert events.index(("stopped", "b")) < events.index(("stopping", "a"))
    assert events.index(("stopped", "c")) < events.index(("stopping", "a"))


def test_a_crashed_daemon_is_started_again_and_it_is_said(start: Start, tmp_path: Path) -> None:
    guard = start((daemon(tmp_path, "a"),))
    guard.until("up")

    os.kill(guard.outside("a"), signal.SIGKILL)

    crash = guard.until("crashed", "a")
    assert crash["why"] == "was killed by signal 9"
    assert guard.until("ready", "a")["restarts"] == 1


def test_a_daemon_that_never_comes_up_ends_the_start(start: Start, tmp_path: Path) -> None:
    # It ends before it answers: one that has answered once is started again for ever.
    ending = daemon(tmp_path, "b", before="raise SystemExit(3); ")
    guard = start((daemon(tmp_path, "a"),), (ending,))

    failure = guard.until("failed", "b")

    assert failure["why"] == "ended with code 3"
    assert guard.process.wait(timeout=20) == 1


def test_a_deaf_daemon_is_given_up_after_its_patience(start: Start, tmp_path: Path) -> None:
    deaf = Daemon(
        name="a",
        argv=("sleep", "600"),
        env={"PATH": os.environ["PATH"]},
        log=str(tmp_path / "a.log"),
        ready=f"unix://{tmp_path}/nobody.sock",
        patience=0.2,
    )

    assert "not ready after" in start((deaf,)).until("failed", "a")["why"]


def test_followers_of_a_crashed_daemon_start_again_after_it(start: Start, tmp_path: Path) -> None:
    note = f"print('started', file=open(r'{tmp_path}/seen', 'a')); "
    follower = daemon(tmp_path, "w", note + STAY, follows="a")
    guard = start((daemon(tmp_path, "a"),), (follower,))
    guard.until("up")

    os.kill(guard.outside("a"), signal.SIGKILL)
    guard.until("ready", "w")

    # Its socket is left over and answers nobody, so that it is ready means that it runs again.
    eventually(lambda: (tmp_path / "seen").read_text() == "started\nstarted\n")
    assert guard.told("crashed") == ["a"]
    events = [(each["what"], each["daemon"]) for each in guard.said]
    assert events[::-1].index(("ready", "a")) > events[::-1].index(("started", "w"))


def noted_opening(note: Path) -> Command:
    return Command(argv=("sh", "-c", f"echo . >> '{note}'"), env={"PATH": os.environ["PATH"]})


def test_work_is_let_in_when_all_are_ready_and_again_after_a_crash(
    start: Start, tmp_path: Path
) -> None:
    opened = tmp_path / "opened"
    guard = start(
        (daemon(tmp_path, "a"),),
        (daemon(tmp_path, "w", follows="a"),),
        opening=noted_opening(opened),
    )
    guard.until("up")
    assert opened.read_text().count(".") == 1

    os.kill(guard.outside("a"), signal.SIGKILL)

    eventually(lambda: opened.read_text().count(".") == 2)


def test_work_is_let_in_again_after_a_crash_that_nobody_follows(
    start: Start, tmp_path: Path
) -> None:
    opened = tmp_path / "opened"
    guard = start(
        (daemon(tmp_path, "a"), daemon(tmp_path, "b")),
        opening=noted_opening(opened),
        comes_back_closed="a",
    )
    guard.until("up")

    os.kill(guard.outside("a"), signal.SIGKILL)

    eventually(lambda: opened.read_text().count(".") == 2)
    os.kill(guard.outside("b"), signal.SIGKILL)
    guard.until("ready", "b")
    assert opened.read_text().count(".") == 2


def test_what_comes_before_a_stage_is_done_once_and_until_it_succeeds(
    start: Start, tmp_path: Path
) -> None:
    tried, ready = tmp_path / "tried", tmp_path / "a.sock"
    third_time = f"test -S '{ready}' && echo . >> '{tried}' && test $(wc -l < '{tried}') -ge 3"
    guard = start(
        (daemon(tmp_path, "a"),),
        (daemon(tmp_path, "b"),),
        first=Command(argv=("sh", "-c", third_time), env={"PATH": os.environ["PATH"]}),
    )
    guard.until("up")

    os.kill(guard.outside("b"), signal.SIGKILL)
    guard.until("ready", "b")

    assert tried.read_text().count(".") == 3


def test_a_file_of_an_earlier_life_does_not_make_a_daemon_ready(
    start: Start, tmp_path: Path
) -> None:
    sign, may = tmp_path / "sign", tmp_path / "may"
    sign.touch()
    slow = f"until test -e '{may}'; do sleep 0.02; done; touch '{sign}'; exec sleep 600"
    guard = start(
        (
            Daemon(
                name="a",
                argv=("sh", "-c", slow),
                env={"PATH": os.environ["PATH"]},
                log=str(tmp_path / "a.log"),
                ready=f"file://{sign}",
            ),
        )
    )
    guard.until("started", "a")
    eventually(lambda: not sign.exists())

    may.touch()

    guard.until("ready", "a")


def from_the_second_start(note: Path, fate: str) -> str:
    return (
        f"import pathlib, time; ran = pathlib.Path(r'{note}')\n"
        f"if ran.exists(): {fate}\n"
        "ran.touch()\n"
    )


@pytest.mark.parametrize("fate", ["raise SystemExit(3)", "time.sleep(600)"])
def test_a_follower_that_never_comes_back_does_not_keep_the_work_out(
    start: Start, tmp_path: Path, fate: str
) -> None:
    opened = tmp_path / "opened"
    fated = from_the_second_start(tmp_path / "ran", fate)
    lost = daemon(tmp_path, "lost", before=fated, follows="a")
    guard = start(
        (daemon(tmp_path, "a"),),
        (daemon(tmp_path, "w", follows="a"), lost),
        opening=noted_opening(opened),
        opening_patience=1,
    )
    guard.until("up")

    os.kill(guard.outside("a"), signal.SIGKILL)

    said = guard.until("opened", "lost")
    assert said["seconds"] == 1
    assert opened.read_text().count(".") == 2


def test_work_stays_out_while_no_follower_is_back(start: Start, tmp_path: Path) -> None:
    opened = tmp_path / "opened"
    crashing = from_the_second_start(tmp_path / "ran", "raise SystemExit(3)")
    lost = daemon(tmp_path, "lost", before=crashing, follows="a")
    guard = start(
        (daemon(tmp_path, "a"),), (lost,), opening=noted_opening(opened), opening_patience=0
    )
    guard.until("up")

    os.kill(guard.outside("a"), signal.SIGKILL)
    for _ in range(3):
        guard.until("crashed", "lost")

    assert opened.read_text().count(".") == 1
    assert guard.told("opened") == []


def test_a_follower_that_ignores_the_end_of_its_daemon_is_killed(
    start: Start, tmp_path: Path
) -> None:
    opened = tmp_path / "opened"
    follower = daemon(tmp_path, "w", STUBBORN, follows="a", stop_patience=0.3)
    guard = start((daemon(tmp_path, "a"),), (follower,), opening=noted_opening(opened))
    guard.until("up")
    pid = guard.outside("w")

    os.kill(guard.outside("a"), signal.SIGKILL)
    guard.until("ready", "w")

    assert gone(pid)
    eventually(lambda: opened.read_text().count(".") == 2)


def test_orphans_are_reaped_and_end_with_the_guard(start: Start, tmp_path: Path) -> None:
    orphan = "import subprocess; subprocess.Popen(['sh', '-c', 'sleep 600 & sleep 600 &']); "
    guard = start((daemon(tmp_path, "a", orphan + STAY),))
    guard.until("up")
    [inside] = children(guard.process.pid)
    eventually(lambda: len(children(inside)) == 3)
    everything = children(inside)

    guard.end()

    assert all(map(gone, everything))


def test_a_daemon_that_ignores_the_request_is_killed(start: Start, tmp_path: Path) -> None:
    guard = start((daemon(tmp_path, "a", STUBBORN, stop_patience=0.3),))
    guard.until("up")
    pid = guard.outside("a")

    assert guard.end() == 0

    assert gone(pid)


def test_if_the_guard_itself_is_killed_nothing_is_left(start: Start, tmp_path: Path) -> None:
    guard = start((daemon(tmp_path, "a"),))
    guard.until("up")
    [inside] = children(guard.process.pid)
    pid = guard.outside("a")

    os.kill(inside, signal.SIGKILL)

    eventually(lambda: gone(pid))


def test_waits_double_up_to_half_a_minute() -> None:
    assert [round(backoff(n), 1) for n in (1, 2, 3, 4, 20)] == [0.2, 0.4, 0.8, 1.6, 30.0]

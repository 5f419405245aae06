"""One daemon as a process: started, asked whether it is ready, told to end.

What its end means for the others is decided by the guard.
"""

import os
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from clusterra.local.plan import Command, Daemon
from clusterra.local.probe import answers, forget

TICK = 0.02
"""Seconds between two looks while something is starting."""
SELDOM = 1.0
"""Seconds between two looks at something that has been starting for a long time."""
QUESTION_PATIENCE = 5
"""Seconds a command that asks whether something is ready may take."""
BIG_LOG = 20_000_000


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
    told_to_end: float | None = None
    """When it was told to end, with the cluster or with the daemon it follows."""

    def start(self) -> int:
        """Start it and return its pid."""
        daemon = self.daemon
        forget(daemon.ready)
        with open_log(daemon.log) as log:
            self.process = subprocess.Popen(
                daemon.argv,
                env=dict(daemon.env),
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.since, self.ready, self.told_to_end = time.monotonic(), False, None
        return self.process.pid

    @property
    def is_starting(self) -> bool:
        return self.process is not None and not self.ready and self.told_to_end is None

    def answers(self) -> bool:
        """Ask it whether it is ready."""
        also = self.daemon.also
        return answers(self.daemon.ready) and (also is None or succeeds(also))

    def end(self) -> None:
        """Tell it to end."""
        if self.process is not None and self.told_to_end is None:
            self.told_to_end, self.ready = time.monotonic(), False
            os.kill(self.process.pid, signal.SIGTERM)

    def kill_if_it_stays(self) -> None:
        """Kill it if it was told to end too long ago."""
        if self.process is not None and self.told_to_end is not None and self._left_to_end() <= 0:
            os.kill(self.process.pid, signal.SIGKILL)

    def next_look(self) -> float:
        """Return in how many seconds it may need something: a question, a start, an end."""
        now = time.monotonic()
        if self.process is None:
            return self.due - now
        if self.told_to_end is not None:
            return self._left_to_end()
        # Asking costs a process; what has not been ready for a minute is not in a hurry.
        return min((now - self.since) / 50, SELDOM)

    def _left_to_end(self) -> float:
        return (self.told_to_end or 0) + self.daemon.stop_patience - time.monotonic()


def succeeds(command: Command) -> bool:
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


def open_log(path: str) -> BinaryIO:
    """Open a log for appending; one that grew big is set aside first."""
    log = Path(path)
    with suppress(FileNotFoundError):
        if log.stat().st_size > BIG_LOG:
            log.replace(f"{path}.1")
    return log.open("ab")

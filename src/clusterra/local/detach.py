"""Leave the supervisor running in a session of its own, and stay until it is up.

The child is a fork of this process: everything is prepared, only the waiting is
left to it. What it has to tell comes back through a pipe until it is up; after
that it tells its log.
"""

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import msgspec

from clusterra.core.errors import ClusterraError, Refused
from clusterra.local.running import Running
from clusterra.local.tell import Teller


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One thing told by the child: a method of `Teller`, or `refused`."""

    call: str
    text: str = ""
    hint: str = ""
    seconds: float = 0
    running: Running | None = None


class Wire:
    """Tells the log, and the process that waits for the start for as long as it does."""

    def __init__(self, pipe: BinaryIO, log: Teller) -> None:
        self._pipe = pipe
        self._log = log

    def note(self, text: str) -> None:
        self._log.note(text)
        self._send(Line(call="note", text=text))

    def progress(self, what: str, percent: int, seconds: float, usually: float | None) -> None:
        self._log.progress(what, percent, seconds, usually)

    def done(self, what: str, seconds: float, note: str = "") -> None:
        self._log.done(what, seconds, note)
        self._send(Line(call="done", text=what, seconds=seconds, hint=note))

    def trouble(self, text: str) -> None:
        self._log.trouble(text)
        self._send(Line(call="trouble", text=text))

    def up(self, running: Running) -> None:
        self._log.up(running)
        self._send(Line(call="up", running=running))

    def stopping(self) -> None:
        self._log.stopping()

    def stopped(self, seconds: float) -> None:
        self._log.stopped(seconds)

    def refused(self, error: ClusterraError) -> None:
        self._log.trouble(error.detail)
        self._send(Line(call="refused", text=error.detail, hint=error.hint))

    def _send(self, line: Line) -> None:
        with suppress(BrokenPipeError):
            self._pipe.write(msgspec.json.encode(line) + b"\n")
            self._pipe.flush()


def detach(
    supervise: Callable[[Teller], None],
    *,
    log: Path,
    log_teller: Callable[[], Teller],
    teller: Teller,
) -> Running:
    """Run `supervise` in a child that outlives us; return when it is up."""
    reading, writing = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _be_the_supervisor(supervise, writing, log, log_teller)
    os.close(writing)
    try:
        with os.fdopen(reading, "rb") as lines:
            for raw in lines:
                line = msgspec.json.decode(raw, type=Line)
                if line.running is not None:
                    return line.running
                _replay(line, teller)
    except KeyboardInterrupt:
        teller.stopping()
        os.kill(child, signal.SIGTERM)
        os.waitpid(child, 0)
        raise
    raise Refused("The supervisor ended while it was starting.", hint=f"Its log: {log}")


def _replay(line: Line, teller: Teller) -> None:
    match line.call:
        case "note":
            teller.note(line.text)
        case "done":
            teller.done(line.text, line.seconds, line.hint)
        case "trouble":
            teller.trouble(line.text)
        case _:
            raise Refused(line.text, hint=line.hint)


def _be_the_supervisor(
    supervise: Callable[[Teller], None], pipe: int, log: Path, log_teller: Callable[[], Teller]
) -> None:
    code = 1
    try:
        os.setsid()
        os.chdir("/")
        _redirect(log)
        with os.fdopen(pipe, "wb") as file:
            wire = Wire(file, log_teller())
            try:
                supervise(wire)
                code = 0
            except ClusterraError as error:
                wire.refused(error)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        # Not our caller's clean-up: that is still to happen, in the parent.
        os._exit(code)


def _redirect(log: Path) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(nothing, 0)
    os.dup2(file, 1)
    os.dup2(file, 2)

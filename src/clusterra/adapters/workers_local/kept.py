"""What is known of each worker, in a file, so that another agent finds it again.

    <directory>/<name>.json     the worker: its shape, port and process
    <logs>/<name>.log           what its slurmd printed
    <directory>/agent.lock      held by the one agent that tends them

A file is written before the process is started, and again with its pid: an agent that is
killed in between leaves a trace of what it was about to do.
"""

import fcntl
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

import msgspec

from clusterra.adapters.workers_local.process import started_at
from clusterra.core.errors import Refused, Unreachable
from clusterra.ports import WorkerShape

_TAIL = 4096
_LONGEST_WHY = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    name: str
    shape: WorkerShape
    port: int
    since: datetime
    life: int
    """When process 1 was started. Without it nothing of its time lives, and nothing comes back."""

    was_ready: bool = False
    pid: int = 0
    started: int = 0


class Kept:
    def __init__(self, directory: Path, logs: Path) -> None:
        self.directory = directory
        self._logs = logs
        self.life = started_at(1) or 0
        self._lock: BinaryIO | None = None

    def lock(self) -> None:
        """Be the only one here, or say who is not."""
        try:
            self.directory.mkdir(mode=0o755, parents=True, exist_ok=True)
            self._logs.mkdir(mode=0o755, parents=True, exist_ok=True)
            self._lock = (self.directory / "agent.lock").open("ab")
        except OSError as error:
            raise self.unusable(error) from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.unlock()
            raise Refused(
                f"Another agent tends the workers in {self.directory}.",
                hint="Stop that one first, or give this one a place of its own.",
                code="agent-running",
            ) from None

    def unlock(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def check(self) -> None:
        """Raise Unreachable if the directory cannot be used."""
        try:
            self.directory.stat()
        except OSError as error:
            raise self.unusable(error) from None

    def log(self, name: str) -> Path:
        return self._logs / f"{name}.log"

    def put(self, note: Note) -> None:
        file = self._file(note.name)
        beside = file.with_suffix(".new")
        try:
            beside.write_bytes(msgspec.json.encode(note))
            beside.replace(file)
        except OSError as error:
            raise self.unusable(error) from None

    def begin_log(self, name: str) -> None:
        """A new worker does not answer for what an older one of its name said."""
        self.log(name).unlink(missing_ok=True)

    def notes(self) -> Iterator[Note]:
        """Yield every worker of this life that was written down; forget the others."""
        for file in sorted(self.directory.glob("*.json")):
            try:
                note = msgspec.json.decode(file.read_bytes(), type=Note)
            except (OSError, msgspec.MsgspecError):
                continue
            if note.name != file.stem:
                continue
            if note.life == self.life:
                yield note
            else:
                self.drop(note.name)

    def drop(self, name: str, *, log: bool = True) -> None:
        with suppress(OSError):
            self._file(name).unlink(missing_ok=True)
            if log:
                self.log(name).unlink(missing_ok=True)

    def last_words(self, name: str) -> str:
        """Return the last line of its log."""
        try:
            with self.log(name).open("rb") as file:
                file.seek(max(file.seek(0, 2) - _TAIL, 0))
                lines = file.read().decode(errors="replace").split("\n")
        except OSError:
            return ""
        said = [line.strip() for line in lines if line.strip()]
        return said[-1][:_LONGEST_WHY] if said else ""

    def unusable(self, error: OSError) -> Unreachable:
        return Unreachable(
            f"The place of the workers, {self.directory}, cannot be used: {error.strerror}.",
            hint="Mend the directory; the agent tries again by itself.",
            code="place-unusable",
        )

    def _file(self, name: str) -> Path:
        return self.directory / f"{name}.json"

"""Processes of this machine, told apart for certain.

A pid alone is not a process: it is given to another one later. A pid with the
moment it started is. Nothing here signals anything.
"""

from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    pid: int
    started: int
    """Clock ticks after boot, as the kernel counts them."""

    @property
    def alive(self) -> bool:
        return process(self.pid) == self


def process(pid: int) -> Process | None:
    """Return the process that has this pid now; one that only waits to be reaped has ended."""
    fields = _stat(_PROC / str(pid))
    if fields is None or fields[0] in "ZX":
        return None
    return Process(pid=pid, started=int(fields[19]))


def children(parent: int) -> list[int]:
    found = []
    for entry in _PROC.glob("[0-9]*"):
        fields = _stat(entry)
        if fields is not None and int(fields[1]) == parent:
            found.append(int(entry.name))
    return found


def pid_outside(guard: int, inner: int) -> int:
    """Return the pid here of a child of `guard` that is `inner` in its process namespace, or 0."""
    for pid in children(guard):
        try:
            status = (_PROC / str(pid) / "status").read_text()
        except OSError:
            continue
        for line in status.splitlines():
            if line.startswith("NSpid:") and int(line.split()[-1]) == inner:
                return pid
    return 0


def _stat(entry: Path) -> list[str] | None:
    """Return the fields of /proc/PID/stat after the name, which may itself hold spaces."""
    try:
        return (entry / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None

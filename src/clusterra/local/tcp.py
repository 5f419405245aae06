"""The TCP ports of one cluster: free ones, remembered ones, and who has the one that is not free.

Ports are chosen once and kept, so that an address someone wrote down stays true.
They are taken from below the range the kernel hands to outgoing connections
(32768 and up), where a port that was free a moment ago is free still.
"""

import random
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from clusterra.adapters.tcp import is_free
from clusterra.core.errors import Refused

PLANE = "control plane"
DEFAULT = 8420
_RANGE = range(20000, 32000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    numbers: Mapping[str, int]
    moved: tuple[str, ...] = field(default=())
    """A sentence for each port that is not the one people may remember."""

    def __getitem__(self, name: str) -> int:
        return self.numbers[name]


def settle(names: Iterable[str], remembered: Mapping[str, int], *, asked: int | None) -> Ports:
    """Choose a port for every name; `asked` is what --port says of the control plane."""
    numbers: dict[str, int] = {}
    moved: list[str] = []
    for name in names:
        wanted = remembered.get(name)
        if name == PLANE:
            wanted = _front(asked, wanted)
        if wanted and wanted not in numbers.values() and is_free(wanted):
            numbers[name] = wanted
            continue
        numbers[name] = free_port(
            numbers.values(), near=DEFAULT if wanted and name == PLANE else None
        )
        if wanted:
            moved.append(
                f"port {wanted} of the {name} is taken{holder(wanted)}; using {numbers[name]}"
            )
    return Ports(numbers=numbers, moved=tuple(moved))


def _front(asked: int | None, remembered: int | None) -> int | None:
    if asked:
        if not is_free(asked):
            raise Refused(
                f"Port {asked} is taken{holder(asked)}.",
                hint="Name another with --port N, or take a free one with --port 0.",
            )
        return asked
    return remembered or (DEFAULT if asked is None else None)


def free_port(but: Collection[int], *, near: int | None = None) -> int:
    candidates = range(near, near + 100) if near else random.sample(_RANGE, 200)
    for port in candidates:
        if port not in but and is_free(port):
            return port
    raise Refused("No TCP port is free on this machine.", hint="See who listens: ss -ltnp")


def holder(port: int) -> str:
    """Return ` by nginx (pid 812)`, or nothing where that cannot be seen."""
    sockets = {Path(f"socket:[{inode}]") for inode in _listeners(port)}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if any(fd.readlink() in sockets for fd in (process / "fd").iterdir()):
                name = (process / "comm").read_text().strip()
                return f" by {name} (pid {process.name})"
        except OSError:
            continue
    return ""


def _listeners(port: int) -> Iterable[str]:
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            lines = Path(table).read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            (
                _,
                local,
                _,
                state,
                *_,
            ) = line.split()[:4]
            if state == "0A" and int(local.rpartition(":")[2], 16) == port:
                yield line.split()[9]

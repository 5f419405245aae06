"""The TCP ports of one cluster: free ones, remembered ones, and who has the one that is not free.

Ports are chosen once and kept, so that an address someone wrote down stays true.
They are taken from below the range the kernel hands to outgoing connections
(32768 and up). Between choosing a port and listening there a second goes by: other
clusters of this machine are kept from choosing it by a claim, and workers, which come
and go at any time, have a range of their own.

The ports of workers are others at each start. Slurm's controller goes on telling the
workers of the last time to end their jobs, and a new worker of the same name that listened
at the same port would take it to be about its own.
"""

import random
import socket
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from clusterra.adapters.tcp import is_free
from clusterra.core.errors import Refused

PLANE = "control plane"
SLURMD = "slurmd"
DEFAULT = 8420
DAEMON_PORTS = range(20000, 26000)
WORKER_PORTS = range(26000, 31000)
"""Where the ports of a cluster's workers begin."""

APART = 1000
"""How far the workers' ports are from those of the last time: more than there are workers."""

TRIES = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    numbers: Mapping[str, int]
    moved: tuple[str, ...] = field(default=())
    """A sentence for each port that is not the one people may remember."""

    def __getitem__(self, name: str) -> int:
        return self.numbers[name]


def settle(
    names: Iterable[str], remembered: Mapping[str, int], *, asked: int | None, claims: ExitStack
) -> Ports:
    """Choose a port for every name; `asked` is what --port says of the control plane.

    No other cluster chooses one of them for as long as `claims` are held.
    """
    numbers: dict[str, int] = {}
    moved: list[str] = []
    for name in names:
        wanted = remembered.get(name) if name != SLURMD else None
        if name == PLANE:
            wanted = asked or wanted or (DEFAULT if asked is None else None)
        claim = _claim(wanted) if wanted else None
        if wanted and claim:
            port = wanted
        elif name == PLANE and asked:
            raise Refused(
                f"Port {asked} is taken{holder(asked)}.",
                hint="Name another with --port N, or take a free one with --port 0.",
            )
        else:
            candidates = _candidates(name, wanted, last=remembered.get(name, 0))
            port, claim = _any_of(candidates)
            if wanted:
                moved.append(f"port {wanted} of the {name} is taken{holder(wanted)}; using {port}")
        numbers[name] = port
        claims.enter_context(claim)
    return Ports(numbers=numbers, moved=tuple(moved))


def _candidates(name: str, wanted: int | None, last: int) -> Sequence[int]:
    if name == PLANE and wanted:
        return range(DEFAULT, DEFAULT + 100)
    if name == SLURMD:
        return random.sample([each for each in WORKER_PORTS if abs(each - last) > APART], TRIES)
    return random.sample(DAEMON_PORTS, TRIES)


def _any_of(candidates: Iterable[int]) -> tuple[int, socket.socket]:
    for port in candidates:
        if claim := _claim(port):
            return port, claim
    raise Refused("No TCP port is free on this machine.", hint="See who listens: ss -ltnp")


def _claim(port: int) -> socket.socket | None:
    """Claim a port; None if another cluster has, or if somebody listens there already.

    A claim is a name in the kernel. It ends with the processes that hold it, however they end.
    """
    claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        claim.bind(f"\0clusterra port {port}")
    except OSError:
        claim.close()
        return None
    if is_free(port):
        return claim
    claim.close()
    return None


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
            fields = line.split()
            local, state, inode = fields[1], fields[3], fields[9]
            if state == "0A" and int(local.rpartition(":")[2], 16) == port:
                yield inode

"""What `run.json` says of a running cluster: how to reach it, and what it consists of.

The terminal finds its server in it, and `down` the one process to ask.
"""

from dataclasses import dataclass

import msgspec

from clusterra.local.processes import Process
from clusterra.local.state import State


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmAddress:
    version: str
    api_version: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonStatus:
    name: str
    pid: int
    since: float
    """When it was last started, in seconds since 1970."""
    log: str
    ready: bool = False
    restarts: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """What `run.json` holds: how to reach a running cluster, and what it consists of."""

    url: str
    token_file: str
    cluster: str
    state: str
    pid: int
    slurm: SlurmAddress
    started: int = 0
    """With `pid`, the one process that is meant."""
    single_user: str = ""
    workers: int | None = None
    """How many there always are; None has as many as the jobs need."""
    agent_key_file: str = ""
    """Where the key of its agent is, if none was started with it."""
    daemons: tuple[DaemonStatus, ...] = ()

    @property
    def supervisor(self) -> Process:
        return Process(pid=self.pid, started=self.started)

    def announcement(self) -> dict[str, object]:
        """Return what `up --json` prints: the part other programs rely on."""
        return {
            "url": self.url,
            "token_file": self.token_file,
            "cluster": self.cluster,
            "state": self.state,
            "pid": self.pid,
            "slurm": msgspec.to_builtins(self.slurm),
        }


def running(state: State) -> Running | None:
    """Return what runs from this state directory, if it is ready and its supervisor lives."""
    try:
        found = msgspec.json.decode(state.run.read_bytes(), type=Running)
    except (OSError, msgspec.MsgspecError):
        return None
    return found if found.supervisor.alive else None

"""What an edge says of itself in a heartbeat: the machines on its side.

None is "could not be listed", which is something else than "listed, there are none".
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeWorker:
    """A worker as an edge that knows single ones tells of it; the public agent does not."""

    name: str
    shape: str
    since: datetime
    """When it was started."""

    ready: bool = False
    """Its slurmd runs and answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """A worker that did not come, or went by itself."""

    shape: str
    why: str
    at: datetime
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A machine that is paid for."""

    name: str
    instance_id: str = ""
    instance_type: str = ""
    lifecycle: str = ""
    zone: str = ""
    node: str = ""
    billable_from: datetime | None = None
    launched: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Offering:
    """What a machine costs there now, in millionths of a dollar per hour."""

    instance_type: str
    lifecycle: str
    zone: str
    usd_per_hour: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeReport:
    at: datetime
    """When we heard it."""

    agent: str
    """Which agent it was: its own id, or its address where it has none."""

    version: str
    """Of the agent's program."""

    applied: int = 0
    """The newest fleet it has seen."""

    capacity: Mapping[str, int] = field(default_factory=dict)
    """How many it holds of each shape, whatever their state."""

    nodes: frozenset[str] | None = None
    """Machines that are nodes of Slurm, or may become one, by that name."""

    workers: tuple[EdgeWorker, ...] | None = None
    failed: tuple[Failed, ...] = ()
    machines: tuple[Machine, ...] | None = None
    address: str = ""
    """Where it says that it can be asked for logs."""

    heard_from: str = ""
    """From where it was heard."""

    slurm_key_hash: str = ""

    @property
    def names(self) -> frozenset[str]:
        """Return the names of all that it has told of."""
        return frozenset(each.name for each in self.workers or ()) | (self.nodes or frozenset())

"""The shape of what a guard is given: daemons in stages, and what to do when they are ready.

It travels as JSON from the supervisor to the guard, which knows nothing about Slurm; what
stands in the plan of a cluster is written in `daemons`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """Something that is run to its end, as a question or as one act."""

    argv: tuple[str, ...]
    env: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Daemon:
    name: str
    argv: tuple[str, ...]
    log: str
    ready: str
    """Where it answers once it is ready: tcp://, http:// or unix:// (a path on the host), or
    file:// for one that listens nowhere and leaves a file."""
    also: Command | None = None
    """What has to succeed as well before it counts as ready."""
    follows: str = ""
    """The daemon whose crash it does not outlive: it is ended, and started when that one is back."""
    env: Mapping[str, str] = field(default_factory=dict)
    patience: float = 60
    """Seconds it may take to become ready before the start is given up."""
    stop_patience: float = 15
    """Seconds it may take to end before it is killed: slurmctld has been seen to take 10 to save."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    title: str
    """What a person calls it; stages of one title are told about together."""
    daemons: tuple[Daemon, ...]
    first: Command | None = None
    """What has to succeed once before any of them is started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    source: str
    target: str
    recursive: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    rootfs: str
    mounts: tuple[Mount, ...]
    stages: tuple[Stage, ...]
    opening: Command | None = None
    """What to do when everything is ready, at first and again after the daemon crashed that comes
    back closed."""
    comes_back_closed: str = ""
    """The daemon after whose crash the cluster has to be opened again. One that others follow is
    such a daemon."""
    opening_patience: float = 30
    """Seconds the last followers are waited for, once one is back, before the rest have to do."""

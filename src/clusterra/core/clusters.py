"""A cluster, its nodes and its partitions, as last seen."""

from dataclasses import dataclass
from datetime import datetime

from clusterra.core.change import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    id: str
    name: str
    slurm_url: str
    added: bool = False
    """By an admin while the server ran, and not by its settings: the server is ready without it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmInfo:
    """What a Slurm says of itself."""

    version: str
    """The release, as `26.05.5`."""

    api_version: str
    """The data parser spoken with it, as `v0.0.45`."""

    cluster_name: str
    accounting: bool
    """Whether slurmdbd answers through slurmrestd; without it history is what we saw."""

    booted_at: datetime | None = None
    """When slurmctld started: when this moves, it was restarted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    name: str
    state: str
    """IDLE, MIXED, ALLOCATED, DOWN, …; one word."""

    flags: tuple[str, ...] = ()
    """DRAIN, NOT_RESPONDING, DYNAMIC_NORM, …"""

    reason: str = ""
    cpus: int = 0
    cpus_used: int = 0
    memory_mib: int = 0
    memory_used_mib: int = 0
    gpus: int = 0
    gpus_used: int = 0
    features: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
    address: str = ""
    booted_at: datetime | None = None
    last_busy: datetime | None = None
    """When the last job on it ended; when it registered, if none ever ran there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    name: str
    state: str
    default: bool = False
    nodes: str = ""
    nodes_total: int = 0
    cpus_total: int = 0
    max_minutes: int | None = None
    """Longest time limit; None is no limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """A cluster that was added while the server ran, and not by its settings."""

    id: str
    name: str
    workspace: str
    slurm_url: str = ""
    """Empty while nobody has named one: then it cannot be seen, and nothing is done there."""

    region: str = ""
    """Of the cloud whose prices count."""

    added_at: datetime
    added_by: str


REGISTERED: Kind[Registered] = Kind("cluster", Registered)
"""By cluster."""

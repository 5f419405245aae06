"""Clusters, nodes and partitions as they travel."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmView:
    version: str
    api_version: str
    cluster_name: str
    accounting: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterView:
    id: str
    name: str
    state: str
    """`up` when Slurm was seen lately, `unreachable` when it cannot be seen, `starting` before."""
    connection_state: str
    """`connected` or `disconnected`."""
    why: str
    """While it cannot be seen: the reason."""
    slurm: SlurmView | None
    jobs: dict[str, int]
    """Jobs by state."""
    nodes: dict[str, int]
    """Nodes by state."""
    observed_at: datetime | None
    age_seconds: float | None
    stale: bool
    workspace: str = ""
    """Whose it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPage:
    clusters: list[ClusterView]
    total: int
    next: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeView:
    name: str
    state: str
    flags: list[str]
    reason: str
    cpus: int
    cpus_used: int
    memory_mib: int
    memory_used_mib: int
    gpus: int
    gpus_used: int
    features: list[str]
    partitions: list[str]
    address: str
    booted_at: datetime | None
    last_busy: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePage:
    nodes: list[NodeView]
    next: str | None
    observed_at: datetime | None
    age_seconds: float | None
    stale: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionView:
    name: str
    state: str
    default: bool
    nodes: str
    nodes_total: int
    cpus_total: int
    max_minutes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionPage:
    partitions: list[PartitionView]
    next: str | None
    observed_at: datetime | None
    age_seconds: float | None
    stale: bool

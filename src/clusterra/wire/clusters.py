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
class AddCluster:
    name: str
    workspace: str = ""
    """Whose it is to be; one's only one if left out."""
    slurm: str = ""
    """Address of its slurmrestd, as `http://head:6820`. Without one, nothing is done there."""
    jwt_key: str = ""
    """Slurm's HS256 key in base64. It goes with `slurm`."""
    region: str = ""
    """Of the cloud whose prices count; us-east-1 if left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterAdded:
    cluster: str
    """Its id."""
    agent_key: str
    """Shown this once, as is the next; only their hashes are kept."""
    collector_key: str
    name: str
    workspace: str
    warning: str = ""
    """Why its Slurm could not be seen; it is registered all the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRemoved:
    cluster: str
    name: str
    workspace: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RotateKey:
    use: str = "agent"
    """Who shows it: `agent` or `collector`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRotated:
    key: str
    """Shown this once; only its hash is kept."""
    id: str
    cluster: str
    use: str
    old: list[str]
    """Ids of the keys before it: each is good until it is revoked."""


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

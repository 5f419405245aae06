"""What an edge agent and the control plane say to each other: the heartbeat.

The members of the public agent, version 5, come first; those after them are ours. It
ignores what it does not know in an answer, and an answer to it leaves nothing out that it
needs. `null` for nodes, machines and workers means that they could not be listed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class CountView:
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeClaimView:
    name: str
    instance_id: str = ""
    instance_type: str = ""
    lifecycle: str = "on-demand"
    zone: str = ""
    nodepool: str = ""
    node_name: str = ""
    billable_from: datetime | None = None
    launched: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferingView:
    instance_type: str
    lifecycle: str
    zone: str
    usd_per_hour: float


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeWorkerView:
    name: str
    shape: str
    since: datetime
    ready: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedView:
    shape: str
    why: str
    at: datetime
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    cluster_id: str
    agent_version: str = ""
    capacity_pods: Mapping[str, CountView] = field(default_factory=dict)
    last_applied_version: int = 0
    slurm_key_hash: str = ""
    agent_ip: str = ""
    k8s_nodes: Sequence[str] | None = None
    nodeclaims: Sequence[NodeClaimView] | None = None
    prices: Sequence[OfferingView] | None = None

    agent_id: str = ""
    """The same from one start of an agent to the next."""

    agent_url: str = ""
    """Where it serves logs, if that is not port 6001 of its address."""

    workers: Sequence[EdgeWorkerView] | None = None
    failed: Sequence[FailedView] = ()
    """What did not come, or went by itself, since the last heartbeat that was answered."""

    wait_seconds: float = 0
    """Answer only when something has changed since `last_applied_version`, or after so long."""

    protected_nodes: Sequence[str] | None = None
    """What it was last told to protect; with `wait_seconds`, a change of it is answered too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeView:
    """What one worker offers to jobs: the agent asks for just that."""

    arch: str
    vcpus: int
    mem_gib: int
    gpu_count: int | None = None
    gpu_model: str | None = None
    tmp_mib: int | None = None
    on_demand: bool | None = None
    mem_mib: int | None = None
    """The same to the MiB, for whoever starts slurmd themselves."""

    features: Sequence[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandView:
    name: str
    replicas: int
    shape: ShapeView


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """The whole desired fleet, every time."""

    scaling_commands_version: int
    scaling_commands: Sequence[CommandView]
    protected_nodes: Sequence[str]
    ack: bool = True
    slurm_key: str | None = None
    retire: Sequence[str] = ()
    """Which workers are to go, where there are more than are wanted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Misclassified:
    """A machine says that it is not what its class says, and that it does not become a node."""

    node: str
    instance_type: str = ""
    expected: str = ""
    """cpu or gpu."""

    actual: str = ""

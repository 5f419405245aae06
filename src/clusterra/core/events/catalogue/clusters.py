"""Whether a cluster is there, and can be seen."""

from dataclasses import dataclass

from clusterra.core.events.fact import Fact, event


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterStateFact(Fact):
    instance_id: str = ""
    """The head node, where a cloud names one."""


@event("cluster.state.starting")
class ClusterStarting(ClusterStateFact):
    """The head node is being started."""


@event("cluster.state.started")
class ClusterStarted(ClusterStateFact):
    """The cluster was started."""


@event("cluster.state.stopping")
class ClusterStopping(ClusterStateFact):
    """The head node is being stopped."""


@event("cluster.state.stopped")
class ClusterStopped(ClusterStateFact):
    """The cluster was stopped in an orderly way."""


@event("cluster.connected")
class ClusterConnected(Fact):
    """The cluster was seen for the first time. Its ledger begins here."""

    slurm_version: str
    api_version: str


@event("cluster.unreachable")
class ClusterUnreachable(Fact):
    """Slurm, or the agent, has not been heard for a while; nothing is concluded from that."""

    why: str
    part: str = "slurm"
    """Who is not heard: `slurm`, or the `agent` that looks after the workers."""


@event("cluster.recovered")
class ClusterRecovered(Fact):
    """Slurm, or the agent, is heard again; what happened meanwhile follows."""

    unseen_seconds: int
    part: str = "slurm"


@event("cluster.notice")
class ClusterNotice(Fact):
    """The cloud said something about the cluster that has no event of its own."""

    name: str
    instance_id: str = ""

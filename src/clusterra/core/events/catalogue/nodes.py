"""What happens to the machines."""

from dataclasses import dataclass

from clusterra.core.events.fact import Fact, event


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFact(Fact):
    node: str = ""
    """Slurm's name of it; empty while it has none."""

    instance_id: str = ""
    """The machine behind it, where a cloud names one."""

    group: str = ""
    """The auto-scaling group, node pool or shape it belongs to."""

    reason: str = ""


@event("node.provisioning")
class NodeProvisioning(NodeFact):
    """A machine has been asked for."""


@event("node.launched")
class NodeLaunched(NodeFact):
    """The machine is running; Slurm does not know it yet."""


@event("node.registered")
class NodeRegistered(NodeFact):
    """Slurm knows the node."""

    cpus: int = 0
    memory_mib: int = 0
    gpus: int = 0


@event("node.active")
class NodeActive(NodeFact):
    """The node takes jobs, for the first time."""


@event("node.drained")
class NodeDrained(NodeFact):
    """The node takes no new jobs."""


@event("node.down")
class NodeDown(NodeFact):
    """Slurm cannot use the node."""


@event("node.resumed")
class NodeResumed(NodeFact):
    """The node takes jobs again."""


@event("node.terminated")
class NodeTerminated(NodeFact):
    """The node is gone."""


@event("node.spot_interrupted")
class NodeSpotInterrupted(NodeFact):
    """The cloud takes the machine back."""

    action: str = ""
    """What the cloud will do: terminate, stop, hibernate."""


@event("node.misclassified")
class NodeMisclassified(NodeFact):
    """A machine is not what its class says, and does not become a node."""

    instance_type: str = ""
    expected: str = ""
    """What its class says: cpu or gpu."""

    actual: str = ""

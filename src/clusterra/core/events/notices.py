"""What is said of nodes, of the cluster and of the collector: facts, as soon as they are heard.

A machine is launched and terminated once, so those events are named after the
machine: the cloud's own notice, the scaling group's and a row of a batch come to the
same one. What has no event of its own becomes `cluster.notice`, and is not lost.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from clusterra.core.errors import Invalid
from clusterra.core.events.catalogue.clusters import (
    ClusterNotice,
    ClusterStarted,
    ClusterStarting,
    ClusterStateFact,
    ClusterStopped,
    ClusterStopping,
)
from clusterra.core.events.catalogue.collector import CollectorGap, CollectorTested
from clusterra.core.events.catalogue.nodes import (
    NodeFact,
    NodeLaunched,
    NodeProvisioning,
    NodeSpotInterrupted,
    NodeTerminated,
)
from clusterra.core.events.event import Draft
from clusterra.core.events.fact import Fact
from clusterra.core.events.payload import Said, moment, number, text
from clusterra.core.ids import uuid8

CLOUD, COLLECTOR = "system:cloud", "system:collector"

_CHANGED = "EC2 Instance State-change Notification"
_LAUNCHED = "EC2 Instance Launch Successful"
_TERMINATED = "EC2 Instance Terminate Successful"
_SPOT = "EC2 Spot Instance Interruption Warning"

_NODE_STATES: Mapping[str, type[NodeFact]] = {
    "pending": NodeProvisioning,
    "running": NodeLaunched,
    "terminated": NodeTerminated,
}
_CLUSTER_STATES: Mapping[str, type[ClusterStateFact]] = {
    "pending": ClusterStarting,
    "starting": ClusterStarting,
    "running": ClusterStarted,
    "stopping": ClusterStopping,
    "stopped": ClusterStopped,
}
_KINDS: tuple[type[NodeFact | ClusterStateFact], ...] = (
    *(*_NODE_STATES.values(), NodeSpotInterrupted),
    *_CLUSTER_STATES.values(),
)
_BY_NAME = {kind.type: kind for kind in _KINDS}


def notice(heard: Said, *, cluster: str, now: datetime) -> Draft | None:
    """Return the event that a notice stands for; None if it is none that we know."""
    name, detail, at = heard.name, heard.detail, heard.at
    if name == "test.install":
        tested = CollectorTested(user=text(detail.get("user")))
        return _once(tested, at, cluster=cluster, now=now, actor=COLLECTOR)
    if name == CollectorGap.type:
        return _gap(detail, cluster=cluster)
    if name in _BY_NAME:
        return _draft(_BY_NAME[name], detail, at, cluster=cluster, now=now)
    whose, _, about = name.partition(".")
    if whose not in {"node", "cluster"} or not about:
        return None
    kind = _kind(whose, about, text(detail.get("state")))
    if kind is not None:
        return _draft(kind, detail, at, cluster=cluster, now=now)
    other = ClusterNotice(
        name=" ".join(filter(None, (name, text(detail.get("state"))))), instance_id=_machine(detail)
    )
    return _once(other, at, cluster=cluster, now=now)


def node_row(row: Mapping[str, Any], *, cluster: str, now: datetime) -> Draft:
    """Read a row of a batch: {node_id, ec2_instance_id, ec2_state, asg_name}."""
    state = text(row.get("ec2_state"))
    kind = _NODE_STATES.get(state)
    if kind is None:
        raise _unknown_state("node", state, _NODE_STATES)
    return _draft(kind, row, None, cluster=cluster, now=now)


def cluster_row(row: Mapping[str, Any], *, cluster: str, now: datetime) -> Draft:
    """Read a row of a batch: {state, instance_id}."""
    state = text(row.get("state"))
    kind = _CLUSTER_STATES.get(state)
    if kind is None:
        raise _unknown_state("cluster", state, _CLUSTER_STATES)
    return _draft(kind, row, None, cluster=cluster, now=now)


def _kind(whose: str, about: str, state: str) -> type[NodeFact | ClusterStateFact] | None:
    if whose == "cluster":
        return _CLUSTER_STATES.get(state) if about == _CHANGED else None
    return {
        _CHANGED: _NODE_STATES.get(state),
        _LAUNCHED: NodeLaunched,
        _TERMINATED: NodeTerminated,
        _SPOT: NodeSpotInterrupted,
    }.get(about)


def _draft(
    kind: type[NodeFact | ClusterStateFact],
    detail: Mapping[str, Any],
    at: datetime | None,
    *,
    cluster: str,
    now: datetime,
) -> Draft:
    machine = _machine(detail)
    if issubclass(kind, ClusterStateFact):
        return _once(kind(instance_id=machine), at, cluster=cluster, now=now)
    node = text(detail.get("node_id") or detail.get("node"))
    if not machine and not node:
        raise Invalid(
            f"This {kind.type} names neither a node nor a machine.",
            hint="Name it in `instance_id`, `instance-id` or `node`.",
            code="which-node",
        )
    group = text(detail.get("asg_name") or detail.get("AutoScalingGroupName"))
    more = {}
    if kind is NodeSpotInterrupted:
        more["action"] = text(detail.get("instance-action") or detail.get("action"))
    fact = kind(node=node, instance_id=machine, group=group, **more)
    if machine:
        id = uuid8(cluster, kind.type, machine)
    else:
        id = uuid8(cluster, kind.type, node, _about(at, now))
    return Draft(id=id, fact=fact, at=at or now, actor=CLOUD, subject=f"node/{node or machine}")


def _gap(detail: Mapping[str, Any], *, cluster: str) -> Draft:
    lost, since, until = (
        number(detail.get("lost")),
        moment(detail.get("since")),
        moment(detail.get("until")),
    )
    if not lost or since is None or until is None:
        raise Invalid(
            "This collector.gap does not say how much was lost, and when.",
            hint="Send {lost, since, until, why}.",
            code="which-gap",
        )
    gap = CollectorGap(lost=lost, since=since, until=until, why=text(detail.get("why")))
    id = uuid8(cluster, gap.type, lost, since, until, gap.why)
    return Draft(id=id, fact=gap, at=until, actor=COLLECTOR, subject="cluster")


def _once(
    fact: Fact, at: datetime | None, *, cluster: str, now: datetime, actor: str = CLOUD
) -> Draft:
    id = uuid8(cluster, fact.type, fact, _about(at, now))
    return Draft(id=id, fact=fact, at=at or now, actor=actor, subject="cluster")


def _about(at: datetime | None, now: datetime) -> object:
    # A message without a time that is delivered twice is delivered twice within minutes.
    return at or now.replace(minute=0, second=0, microsecond=0)


def _machine(detail: Mapping[str, Any]) -> str:
    for name in ("instance_id", "instance-id", "ec2_instance_id", "EC2InstanceId"):
        if found := text(detail.get(name)):
            return found
    several = detail.get("instances")
    return text(several[0]) if isinstance(several, list) and several else ""


def _unknown_state(what: str, state: str, known: Mapping[str, object]) -> Invalid:
    return Invalid(
        f"A {what} is not {state!r} in any event there is.",
        hint=f"The states are: {', '.join(known)}.",
        code="unknown-state",
    )

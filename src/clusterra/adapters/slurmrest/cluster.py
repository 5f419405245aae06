"""Nodes, partitions and Slurm's account of itself."""

import re
from datetime import datetime, timedelta
from typing import Any

import msgspec

from clusterra.adapters.slurmrest.decode import Amount, Envelope, moment, whole
from clusterra.core.clusters import Node, Partition


class NodeInfo(msgspec.Struct, frozen=True):
    name: str = ""
    address: str = ""
    alloc_cpus: Amount = None
    alloc_memory: Amount = None
    boot_time: Amount = None
    cpus: Amount = None
    features: list[str] = []
    gres: str = ""
    gres_used: str = ""
    last_busy: Amount = None
    partitions: list[str] = []
    real_memory: Amount = None
    reason: str = ""
    state: list[str] = []


class NodesReply(Envelope, frozen=True):
    nodes: list[msgspec.Raw] | None = None


class PartitionInfo(msgspec.Struct, frozen=True):
    class Nodes(msgspec.Struct, frozen=True):
        configured: str = ""
        total: Amount = None

    class Cpus(msgspec.Struct, frozen=True):
        total: Amount = None

    class Maximums(msgspec.Struct, frozen=True):
        time: Amount = None

    class Status(msgspec.Struct, frozen=True):
        state: list[str] = []

    name: str = ""
    cpus: Cpus = Cpus()
    flags: list[str] = []
    maximums: Maximums = Maximums()
    nodes: Nodes = Nodes()
    partition: Status = Status()


class PartitionsReply(Envelope, frozen=True):
    partitions: list[msgspec.Raw] | None = None


class DiagReply(Envelope, frozen=True):
    class Statistics(msgspec.Struct, frozen=True):
        req_time_start: Amount = None

    statistics: Statistics = Statistics()


class ConfReply(Envelope, frozen=True):
    class Meta(msgspec.Struct, frozen=True):
        boot_time: Amount = msgspec.field(default=None, name="BOOT_TIME")

    slurm_conf_meta: Meta = Meta()


def node(info: NodeInfo) -> Node:
    return Node(
        name=info.name,
        state=info.state[0] if info.state else "UNKNOWN",
        flags=tuple(info.state[1:]),
        reason=info.reason,
        cpus=whole(info.cpus) or 0,
        cpus_used=whole(info.alloc_cpus) or 0,
        memory_mib=whole(info.real_memory) or 0,
        memory_used_mib=whole(info.alloc_memory) or 0,
        gpus=gpus(info.gres),
        gpus_used=gpus(info.gres_used),
        features=tuple(info.features),
        partitions=tuple(info.partitions),
        address=info.address,
        booted_at=moment(info.boot_time),
        last_busy=moment(info.last_busy),
    )


def partition(info: PartitionInfo) -> Partition:
    return Partition(
        name=info.name,
        state=info.partition.state[0] if info.partition.state else "UNKNOWN",
        default="DEFAULT" in info.flags,  # said from v0.0.45 on
        nodes=info.nodes.configured,
        nodes_total=whole(info.nodes.total) or 0,
        cpus_total=whole(info.cpus.total) or 0,
        max_minutes=whole(info.maximums.time),
    )


def release(reply: Envelope) -> str:
    """Return Slurm's release as the reply's surroundings state it."""
    return str(_slurm(reply).get("release") or "")


def cluster_name(reply: Envelope) -> str:
    return str(_slurm(reply).get("cluster") or "")


def _slurm(reply: Envelope) -> dict[str, Any]:
    found = (reply.meta or {}).get("slurm")
    return found if isinstance(found, dict) else {}


_MIDNIGHT = timedelta(seconds=3)


def started(counting_since: datetime | None, *, before: datetime | None) -> datetime | None:
    """Tell when slurmctld started from when it began to count, and what we knew before.

    Its counters start with it, and again at midnight UTC: a start that has just moved
    to midnight is the clock, not a restart. (A restart in those three seconds is
    missed; its jobs are found at the next full look.)
    """
    if counting_since is None or before is None or counting_since <= before:
        return counting_since
    since_midnight = timedelta(seconds=counting_since.timestamp() % 86400)
    return before if since_midnight < _MIDNIGHT else counting_since


_ASIDE = re.compile(r"\([^)]*\)")
_GPU = re.compile(r"gpu(?::[^:,]*[^:,\d][^:,]*)?(?::(\d+))?")


def gpus(gres: str) -> int:
    """Count the GPUs in `gpu:4`, `gpu:l4:2(S:0)` or `gpu:a100:1,gpu:l4:2,shard:8`."""
    total = 0
    for part in _ASIDE.sub("", gres).split(","):
        found = _GPU.fullmatch(part)
        if found:
            total += int(found[1]) if found[1] else 1
    return total

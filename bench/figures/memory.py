"""What fifty thousand jobs cost: memory when they arrive, memory afterwards, time to have them."""

from collections.abc import Iterator

from bench.figure import Goal, Row
from bench.inflate import VERSION
from bench.keepalive import KeepAlive
from bench.processes import until
from bench.stage import Stage
from bench.timing import seconds

SETTLED = 4
"""Looks at the queue after which memory is what it will be."""


def memory(stage: Stage) -> Iterator[Row]:
    played = stage.large
    looks = played.slurm.looks()
    until(lambda: played.slurm.looks() >= looks + SETTLED, every=0.1)
    settled = played.plane.memory_mb("VmRSS")
    lengths: list[int] = []
    with KeepAlive(played.slurm.url) as client:
        reading = seconds(lambda: lengths.append(client.drain(f"/slurm/{VERSION}/jobs/")))
    reply_mb = lengths[0] / 1e6
    yield Row(
        name="memory-50k",
        what="memory of the control plane with 50,000 jobs, settled",
        ours=settled,
        unit="MB",
        beside=reply_mb,
        beside_what="slurmrestd's list of those jobs",
        goal=Goal(bound=300),
    )
    yield Row(
        name="memory-first-sync",
        what="the most memory it used until it had first read them",
        ours=played.peak_mb,
        unit="MB",
        beside=reply_mb,
        beside_what="slurmrestd's list of those jobs",
        goal=Goal(bound=300),
    )
    yield Row(
        name="first-sync",
        what="seconds from the start to all 50,000 jobs in the store",
        ours=played.sync_seconds,
        unit="s",
        beside=reading,
        beside_what="reading the same bytes and throwing them away",
        goal=Goal(bound=60),
    )

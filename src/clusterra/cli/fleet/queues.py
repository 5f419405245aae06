"""Where the jobs of a simulation come from: a file, or what a cluster has run."""

from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from clusterra.client.client import Client
from clusterra.core.errors import Invalid, NotFound
from clusterra.core.scaling.demand import Need
from clusterra.core.scaling.yard import Arrival
from clusterra.wire.jobs import JobView

PAGE = 1000
MOST_JOBS = 1_000_000


class QueuedJob(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A job in a queue file; everything it asks for is for each of its nodes."""

    seconds: int
    """How long it runs."""
    at: int = 0
    """When it comes, in seconds from the beginning."""
    count: int = 1
    """So many of them come together."""
    nodes: int = 1
    cpus: int = 1
    memory_mib: int = 0
    gpus: int = 0
    gpu_model: str = ""
    exclusive: bool = False
    features: str = ""
    priority: int = 0


def read_queue(file: Path) -> list[Arrival]:
    """Read a JSON list of jobs."""
    try:
        jobs = msgspec.json.decode(file.read_bytes(), type=list[QueuedJob])
    except OSError as error:
        raise Invalid(
            f"{file} cannot be read: {error.strerror}.",
            hint="Name a file with a JSON list of jobs.",
        ) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Invalid(
            f"{file} is not a list of jobs: {error}.",
            hint='A job is like {"at": 0, "cpus": 4, "memory_mib": 8192, "seconds": 600}.',
        ) from None
    for place, job in enumerate(jobs):
        _check(job, f"{file}, job {place + 1}")
    if sum(job.count for job in jobs) > MOST_JOBS:
        raise Invalid(f"{file} has more than {MOST_JOBS:,} jobs.", hint="Simulate a part of them.")
    return [arrival for job in jobs for arrival in _arrivals(job)]


def recorded(client: Client, cluster: str, days: int, now: datetime) -> list[Arrival]:
    """Return what a cluster has run in the last days, as it came."""
    jobs: list[JobView] = []
    cursor = None
    while True:
        page = client.jobs(
            cluster, f"submitted<{days}d", sort="submitted", limit=PAGE, cursor=cursor
        )
        jobs += [job for job in page.jobs if job.started_at is not None]
        if (cursor := page.next) is None:
            break
    if not jobs:
        raise NotFound(
            f"No job was submitted and started here in the last {days} days.",
            hint="Try more days, or a made-up queue: clusterra fleet simulate --synthetic 1000",
        )
    first = min(_came(job) for job in jobs)
    return [_as_arrival(job, first, now) for job in jobs]


def _check(job: QueuedJob, where: str) -> None:
    least = {"seconds": 1, "at": 0, "count": 0, "nodes": 1, "cpus": 0, "memory_mib": 0, "gpus": 0}
    for name, smallest in least.items():
        if getattr(job, name) < smallest:
            raise Invalid(
                f"{where}: {name} is {getattr(job, name)}.",
                hint=f"The least is {smallest}.",
                at=name,
            )


def _arrivals(job: QueuedJob) -> list[Arrival]:
    asked: dict[str, Any] = {
        name: getattr(job, name)
        for name in ("nodes", "memory_mib", "gpus", "gpu_model", "exclusive", "features")
    }
    need = Need(cpus=max(job.cpus, 1), **asked)
    return [Arrival(at=job.at, need=need, seconds=job.seconds, priority=job.priority)] * job.count


def _came(job: JobView) -> datetime:
    """Return from when on it could have run: what a job waited for before that is not our doing."""
    return max(job.submitted_at, job.eligible_at or job.submitted_at)


def _as_arrival(job: JobView, first: datetime, now: datetime) -> Arrival:
    started = job.started_at or now
    nodes = max(job.nodes_wanted, 1)
    return Arrival(
        at=int((_came(job) - first).total_seconds()),
        seconds=max(int(((job.ended_at or now) - started).total_seconds()), 1),
        need=Need(
            nodes=nodes,
            cpus=max(-(-job.cpus // nodes), 1),
            memory_mib=-(-job.memory_mib // nodes),
            gpus=-(-job.gpus // nodes),
            features=job.features,
        ),
    )

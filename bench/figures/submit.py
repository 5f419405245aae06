"""Submitting a job through us, beside handing the same job to slurmrestd.

Both are measured in short blocks that take turns, with the same client, over as
many connections and with the same job, so that whatever else the machine does
is shared. The jobs are held: nothing runs, and all are cancelled afterwards.
"""

import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from statistics import median

from bench.embedded import Embedded
from bench.figure import Goal, Row
from bench.keepalive import KeepAlive
from bench.stage import Stage
from bench.timing import seconds

NAME = "bench-submit"
WARM_UP = 20
BLOCKS = 8
BLOCK = 40
IN_FLIGHT = 8
BURST = 160
BURSTS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One way to submit: how to connect, and what to send."""

    connect: Callable[[], KeepAlive]
    path: str
    body: bytes

    def submit(self, client: KeepAlive) -> None:
        answer = client.send(client.request("POST", self.path, self.body))
        if answer.status not in (200, 201):
            raise RuntimeError(f"{self.path}: {answer.status} {answer.body.decode()[:500]}")


def latency(stage: Stage) -> Iterator[Row]:
    with sides(stage.embedded) as (ours, raw):
        mine, theirs = latencies(ours, raw)
    yield Row(
        name="submit-latency",
        what="p50 of a submission through us",
        ours=median(mine) * 1e3,
        unit="ms",
        beside=median(theirs) * 1e3,
        beside_what="p50 of the same job handed to slurmrestd",
        goal=Goal(bound=1.5, of_ratio=True),
    )


def throughput(stage: Stage) -> Iterator[Row]:
    with sides(stage.embedded) as (ours, raw):
        rates = [(rate(ours), rate(raw)) for _ in range(BURSTS)]
    mine, theirs = (median(side) for side in zip(*rates, strict=True))
    yield Row(
        name="submit-throughput",
        what="submissions a second through us with 8 in flight",
        ours=mine,
        unit="jobs/s",
        beside=theirs,
        beside_what="the same handed to slurmrestd over 8 connections",
        goal=Goal(bound=0.7, least=True, of_ratio=True),
    )


@contextmanager
def sides(cluster: Embedded) -> Iterator[tuple[Side, Side]]:
    """Make both ways ready and warm; afterwards cancel whatever was submitted."""
    plane = cluster.plane
    user, home = _person(cluster)
    job = {
        "name": NAME,
        "hold": True,
        "environment": ["PATH=/usr/bin:/bin"],
        "current_working_directory": home,
        "standard_output": f"{home}/job_%j.out",
        "minimum_cpus": 1,
        "time_limit": {"set": True, "number": 10},
    }
    body = json.dumps({"script": "#!/bin/bash\nhostname\n", "job": job}).encode()
    slurm = f"/slurm/{cluster.api_version}"
    ours = Side(connect=plane.client, path=f"{plane.jobs}/submit", body=body)
    raw = Side(connect=lambda: cluster.raw(user), path=f"{slurm}/job/submit", body=body)
    try:
        for side in (ours, raw):
            with side.connect() as client:
                for _ in range(WARM_UP):
                    side.submit(client)
        yield ours, raw
    finally:
        with cluster.raw(user) as client:
            which = json.dumps({"job_name": NAME, "user_name": user}).encode()
            client.send(client.request("DELETE", f"{slurm}/jobs/", which))


def _person(cluster: Embedded) -> tuple[str, str]:
    """Return in whose name the admin submits, and where that person's home is."""
    with cluster.plane.client() as client:
        [job] = json.loads(client.get(f"{cluster.plane.jobs}?limit=1").body)["jobs"]
        full = json.loads(client.get(f"{cluster.plane.jobs}/{job['job_id']}").body)
    return full["user"], full["work_dir"]


def latencies(ours: Side, raw: Side) -> tuple[list[float], list[float]]:
    mine: list[float] = []
    theirs: list[float] = []
    with ours.connect() as us, raw.connect() as them:
        for _ in range(BLOCKS):
            for side, client, taken in ((ours, us, mine), (raw, them, theirs)):
                taken += [seconds(partial(side.submit, client)) for _ in range(BLOCK)]
    return mine, theirs


def rate(side: Side) -> float:
    """Submit a burst over several connections; return the submissions a second."""
    with ExitStack() as opened, ThreadPoolExecutor(IN_FLIGHT) as threads:
        clients = [opened.enter_context(side.connect()) for _ in range(IN_FLIGHT)]
        for client in clients:
            side.submit(client)

        def part(client: KeepAlive) -> None:
            for _ in range(BURST // IN_FLIGHT):
                side.submit(client)

        began = time.perf_counter()
        list(threads.map(part, clients))
        return BURST / (time.perf_counter() - began)

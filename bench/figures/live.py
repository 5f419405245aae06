"""How soon after Slurm somebody who follows the events knows of it.

When Slurm itself knows is found by asking slurmrestd for the job without a pause, which
nobody should do to a cluster; the stream is followed beside it.
"""

import json
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from statistics import median
from typing import Self

from bench.embedded import Embedded
from bench.figure import Goal, Row
from bench.stage import Stage
from clusterra.client.connection import Connection

JOBS = 20
SCRIPT = json.dumps({"script": "#!/bin/bash\nsleep 0.5\n", "name": "bench-live"}).encode()
STEPS = {"RUNNING": "job.started", "COMPLETED": "job.completed"}
PATIENCE = 30

Moments = dict[tuple[int, str], float]
"""When it was known that a job had come to a state."""


def live(stage: Stage) -> Iterator[Row]:
    cluster = stage.embedded
    with _Following(cluster) as following:
        asked: Moments = {}
        looks = [_watch(cluster, _submit(cluster), asked) for _ in range(JOBS)]
        told = following.wait_for(asked.keys())
    late = [max(told[step] - at, 0) for step, at in asked.items()]
    yield Row(
        name="state-to-stream",
        what="p50 from a job's change of state in Slurm to the event at a follower",
        ours=median(late) * 1e3,
        unit="ms",
        beside=median(looks) * 1e3,
        beside_what="one question to slurmrestd about the job",
        goal=Goal(bound=150),
    )


def _submit(cluster: Embedded) -> int:
    with cluster.plane.client() as client:
        made = client.send(client.request("POST", f"{cluster.plane.jobs}/submit", SCRIPT))
        return int(json.loads(made.body)["job_id"])


def _watch(cluster: Embedded, job_id: int, known: Moments) -> float:
    """Ask slurmrestd again and again until the job is over; return how long one question took."""
    taken = []
    with cluster.raw("root") as client:
        while (job_id, "COMPLETED") not in known:
            began = time.perf_counter()
            answer = client.get(f"/slurm/{cluster.api_version}/job/{job_id}")
            now = time.perf_counter()
            taken.append(now - began)
            [job] = json.loads(answer.body)["jobs"]
            for state in job["job_state"]:
                # While its nodes are made ready it is called running, and is not.
                if state in STEPS and "CONFIGURING" not in job["job_state"]:
                    known.setdefault((job_id, state), now)
    return median(taken)


class _Following:
    """Somebody who follows the events, and notes when each came."""

    def __init__(self, cluster: Embedded) -> None:
        self._plane = cluster.plane
        self._came: Moments = {}
        self._told = threading.Condition()
        self._ready = threading.Event()

    def __enter__(self) -> Self:
        threading.Thread(target=self._follow, daemon=True).start()
        self._ready.wait(PATIENCE)
        return self

    def __exit__(self, *_: object) -> None:
        return

    def _follow(self) -> None:
        path = f"/v1/clusters/{self._plane.cluster}/events/stream?type=job.*"
        with closing(Connection(self._plane.url, token=self._plane.token)) as connection:
            for line in connection.lines(path, silence=60):
                self._ready.set()
                if line.startswith(b"data:"):
                    self._note(json.loads(line[5:]), time.perf_counter())

    def _note(self, event: dict[str, object], now: float) -> None:
        data = event.get("data")
        for state, type in STEPS.items():
            if isinstance(data, dict) and event.get("type") == type:
                with self._told:
                    self._came.setdefault((int(data["job_id"]), state), now)
                    self._told.notify_all()

    def wait_for(self, steps: Iterable[tuple[int, str]]) -> Moments:
        wanted = set(steps)
        with self._told:
            if not self._told.wait_for(lambda: wanted <= self._came.keys(), PATIENCE):
                missing = sorted(wanted - self._came.keys())
                raise RuntimeError(f"No event came for {missing}.")
            return dict(self._came)

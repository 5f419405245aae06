"""From a submission to a running job, with no worker there and with one; and many workers at once.

The policy decides which: workers that go as soon as they are idle make every start cold.
"""

import json
import random
import time
from collections.abc import Callable, Iterator
from statistics import median

from bench.embedded import Embedded, embedded
from bench.figure import Goal, Row
from bench.keepalive import KeepAlive
from bench.processes import Plane, until
from bench.stage import Stage

COLD = 20
WARM = 20
MANY = 200
FEW = 20
JOB = json.dumps({"script": "#!/bin/bash\nsleep 0.2\n", "name": "start"}).encode()
SHAPE = "compute-xs"
_moments = random.Random(6)


def starts(_: Stage) -> Iterator[Row]:
    with embedded() as cluster:
        _set(cluster.plane, idle_seconds=0)
        cold = sorted(_started(cluster, from_nothing=True) for _round in range(COLD))
        _set(cluster.plane, idle_seconds=600)
        _started(cluster)
        warm, raw = [], []
        for _round in range(WARM):
            warm.append(_at_any_moment(lambda: _started(cluster)))
            raw.append(_at_any_moment(lambda: _started_raw(cluster)))
    for name, what, seconds, bound in (
        ("start-cold", "with no worker there, half of the time within", median(cold), 1.0),
        ("start-cold-worst", f"the slowest of {COLD} of these", cold[-1], 2.0),
        ("start-warm", "with an idle worker there, half of the time within", median(warm), 0.4),
    ):
        yield Row(
            name=name,
            what=f"seconds from a submission to RUNNING; {what}",
            ours=seconds,
            unit="s",
            beside=median(raw),
            beside_what="the same, warm, by slurmrestd itself",
            goal=Goal(bound=bound),
        )


def workers(_: Stage) -> Iterator[Row]:
    with embedded() as cluster:
        _set(cluster.plane, idle_seconds=0, max_workers=MANY)
        many = _brought(cluster, MANY)
        yield Row(
            name="workers-200",
            what=f"seconds from asking for {MANY} workers to {MANY} nodes that take jobs",
            ours=many,
            unit="s",
            beside=_brought(cluster, FEW) * MANY / FEW,
            beside_what=f"{FEW} workers, taken {MANY // FEW} times",
            goal=Goal(bound=5),
        )


def _at_any_moment(start: Callable[[], float]) -> float:
    """Start at some moment of a second: Slurm starts jobs on the beat of its own clocks."""
    time.sleep(_moments.random())
    return start()


def _brought(cluster: Embedded, count: int) -> float:
    began = time.perf_counter()
    _set(cluster.plane, minimum={SHAPE: count})
    with cluster.raw("root") as slurm:
        until(lambda: _idle(cluster, slurm) == count, every=0.3)
        took = time.perf_counter() - began
        _set(cluster.plane, minimum={SHAPE: 0})
        until(lambda: _idle(cluster, slurm) == 0, every=0.3)
    return took


def _started(cluster: Embedded, *, from_nothing: bool = False) -> float:
    """Submit through us, and watch Slurm itself."""
    with cluster.raw("root") as slurm, cluster.plane.client() as client:
        if from_nothing:
            until(lambda: not _nodes(cluster, slurm))
        request = client.request("POST", f"{cluster.plane.jobs}/submit", JOB)
        began = time.perf_counter()
        made = client.send(request)
        return _until_running(cluster, slurm, json.loads(made.body)["job_id"], began)


def _started_raw(cluster: Embedded) -> float:
    job = {
        "name": "start",
        "current_working_directory": "/tmp",
        "environment": ["PATH=/usr/bin:/bin"],
        "standard_output": "/dev/null",
    }
    body = json.dumps({"script": "#!/bin/bash\nsleep 0.2\n", "job": job}).encode()
    with cluster.raw("root") as slurm:
        request = slurm.request("POST", f"/slurm/{cluster.api_version}/job/submit", body)
        began = time.perf_counter()
        made = slurm.send(request)
        return _until_running(cluster, slurm, json.loads(made.body)["job_id"], began)


def _until_running(cluster: Embedded, slurm: KeepAlive, id: int, began: float) -> float:
    path = f"/slurm/{cluster.api_version}/job/{id}"

    def state() -> list[str]:
        words: list[str] = json.loads(slurm.get(path).body)["jobs"][0]["job_state"]
        return words

    until(lambda: "PENDING" not in state())
    took = time.perf_counter() - began
    until(lambda: "COMPLETED" in state() and "COMPLETING" not in state())
    return took


def _nodes(cluster: Embedded, slurm: KeepAlive) -> list[list[str]]:
    answer = slurm.get(f"/slurm/{cluster.api_version}/nodes/")
    if answer.status != 200:  # slurmctld is busy; it says so twice, and hangs up
        slurm.close()
        return []
    return [node["state"] for node in json.loads(answer.body)["nodes"]]


def _idle(cluster: Embedded, slurm: KeepAlive) -> int:
    return sum(state[0] == "IDLE" and "DRAIN" not in state for state in _nodes(cluster, slurm))


def _set(plane: Plane, **policy: object) -> None:
    path = plane.jobs.removesuffix("/jobs") + "/fleet/policy"
    with plane.client() as client:
        done = client.send(client.request("PATCH", path, json.dumps(policy).encode()))
    if done.status != 200:
        raise RuntimeError(f"The policy was not taken: {done.body.decode()}")

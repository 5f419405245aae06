"""Workers that come with the jobs and go without them, on a real Slurm."""

import asyncio
import json
import os
import signal
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pytest

from clusterra.adapters.clock import SystemClock
from clusterra.adapters.slurmrest import SlurmRest
from clusterra.client.connection import Connection
from clusterra.core.errors import Refused
from clusterra.wire.fleet import EditPolicy
from tests.cluster import Land, Running, eventually

IDLE_SECONDS = 3


@pytest.fixture(scope="module")
def elastic(land: Land) -> Iterator[Running]:
    """Start a cluster that has no workers until a job needs one."""
    made = land.up(land.home / "elastic", workers=None)
    made.client().fleet.set_policy(made.cluster, EditPolicy(idle_seconds=IDLE_SECONDS))
    yield made
    made.down()


def is_empty(running: Running) -> bool:
    """Say whether there is no worker: none is wanted, none is in Slurm, and none runs.

    The last is not to be left out: a controller that has lost its memory gives a job to a worker
    that it had been told to give none, as long as that one has not ended.
    """
    client = running.client()
    fleet = client.fleet.show(running.cluster)
    nodes = client.nodes(running.cluster).nodes
    return (fleet.desired, fleet.workers, nodes, running.slurmds()) == (0, 0, [], {})


def until_empty(running: Running) -> None:
    eventually("the fleet is back to nothing", lambda: is_empty(running), timeout=60)


def drain(running: Running, node: str, reason: str) -> None:
    """Do as an admin does with `scontrol update`."""

    async def as_admin() -> None:
        key = (running.path / "etc/slurm/jwt_hs256.key").read_bytes()
        slurm = SlurmRest(
            running.slurm["url"], key, clock=SystemClock(), service_user=slurm_user(running)
        )
        try:
            await slurm.drain([node], reason)
        finally:
            await slurm.close()

    asyncio.run(as_admin())


def slurm_user(running: Running) -> str:
    conf = (running.path / "etc/slurm/slurm.conf").read_text().splitlines()
    return next(line.partition("=")[2] for line in conf if line.startswith("SlurmUser="))


MIXED: list[dict[str, Any]] = [
    # By memory per CPU: up to 3 GiB is compute, up to 6 general, beyond that memory.
    *[{"cpus": 2, "memory": "4G"}] * 12,
    *[{"cpus": 6, "memory": "12G"}] * 4,
    *[{"cpus": 1, "memory": "4G"}] * 14,
    {"cpus": 12, "memory": "48G"},
    *[{"cpus": 1, "memory": "8G"}] * 16,
    *[{"cpus": 4, "memory": "30G"}] * 2,
    {"cpus": 1, "memory": "2G", "gpus": "a10g:1"},
]


def test_fifty_mixed_jobs_get_workers_that_suit_them_and_then_there_is_none(
    elastic: Running,
) -> None:
    until_empty(elastic)
    with pytest.raises(Refused):
        elastic.submit("true", cpus=10_000)

    with ThreadPoolExecutor(4) as pool:
        ids = list(pool.map(lambda wishes: elastic.submit("sleep 0.5", **wishes), MIXED))

    jobs = [elastic.wait_ended(each, timeout=90) for each in ids]
    assert len(jobs) == 50
    assert {job.state for job in jobs} == {"COMPLETED"}
    [on_gpu] = [job for job in jobs if job.gpus]
    assert on_gpu.nodes.startswith("gpu-a10g-x1-")

    until_empty(elastic)
    told = json.loads(elastic.cli("fleet", "decisions", "--limit", "200", "--json").stdout)
    changes = [each for decision in told["decisions"] for each in decision["changes"]]
    sums: dict[str, int] = defaultdict(int)
    for each in changes:
        assert each["reason"]
        sums[each["shape"]] += each["after"] - each["before"]
    # Jobs may run where there is room; what is started for them is of their own family and size.
    families = {shape.partition("-")[0] for shape in sums}
    assert families == {"compute", "general", "memory", "gpu"}
    assert {"general-medium", "gpu-a10g-x1"} <= set(sums)
    assert not [shape for shape in sums if shape.endswith("large")]
    assert set(sums.values()) == {0}


def test_an_agent_that_is_killed_finds_its_workers_again_and_their_jobs_live_on(
    elastic: Running,
) -> None:
    job = elastic.submit("sleep 600", name="lives-on")
    node = elastic.wait(job, until=lambda view: view.state == "RUNNING").nodes
    slurmd, agent = elastic.slurmd(node), elastic.daemon("agent")

    os.kill(agent.pid, signal.SIGKILL)

    eventually("the agent is back", lambda: elastic.daemon("agent").pid != agent.pid)
    eventually("it is ready", lambda: elastic.daemon("agent").ready)
    eventually("the worker is back", lambda: elastic.slurmd(node) not in {0, slurmd})
    other = elastic.submit("hostname", cpus=1)
    assert elastic.wait_ended(other).state == "COMPLETED"
    assert elastic.client().job(elastic.cluster, str(job)).state == "RUNNING"
    elastic.client().cancel(elastic.cluster, job)
    elastic.wait_ended(job)
    until_empty(elastic)


def test_a_machine_that_the_cloud_takes_back_is_given_up_at_once_and_its_job_waits_again(
    elastic: Running,
) -> None:
    job = elastic.submit("sleep 600", name="spot")
    node = elastic.wait(job, until=lambda view: view.state == "RUNNING").nodes
    notice = {
        "cluster_id": elastic.cluster,
        "source": "clusterra.infra",
        "detail-type": "node.EC2 Spot Instance Interruption Warning",
        "detail": {"node": node, "instance-action": "terminate"},
    }
    key = (elastic.path / "keys" / f"{elastic.cluster}.key").read_text().strip()
    with closing(Connection(elastic.url, token=key)) as collector:
        collector.send("POST", "/v1/internal/events", json.dumps(notice).encode())

    # Slurm itself lets two minutes pass before it starts a job again that lost its node.
    elastic.wait(job, until=lambda view: view.restarts > 0 and view.state == "PENDING")
    story = elastic.cli("jobs", "timeline", str(job)).stdout
    assert "went back into the queue" in story
    assert "taken back" in elastic.cli("events", "list", "--subject", f"node/{node}").stdout
    elastic.client().cancel(elastic.cluster, job)
    elastic.wait_ended(job)


def test_a_node_that_an_admin_drained_is_neither_used_nor_taken_nor_undrained(
    elastic: Running,
) -> None:
    job = elastic.submit("sleep 1")
    node = elastic.wait(job, until=lambda view: view.state == "RUNNING").nodes
    drain(elastic, node, "the disk is full")
    elastic.wait_ended(job)

    # Another worker comes for the next job, and goes when it is idle: this one would have too.
    second = elastic.wait_ended(elastic.submit("hostname", cpus=1))
    assert second.nodes != node
    client = elastic.client()
    eventually(
        "only that one is left",
        lambda: [each.name for each in client.nodes(elastic.cluster).nodes] == [node],
        timeout=60,
    )
    [kept] = client.nodes(elastic.cluster).nodes
    assert "DRAIN" in kept.flags
    assert kept.reason == "the disk is full"
    assert elastic.slurmd(node)


def test_a_controller_that_crashes_while_workers_leave_comes_back_to_an_empty_fleet(
    land: Land,
) -> None:
    made = land.up(land.home / "leaving", workers=None)
    try:
        client = made.client()
        client.fleet.set_policy(made.cluster, EditPolicy(idle_seconds=1))
        jobs = [made.submit("sleep 1", cpus=3, memory="8G", exclusive=True) for _ in range(4)]
        for job in jobs:
            assert made.wait_ended(job).state == "COMPLETED"
        eventually(
            "a worker is told to leave",
            lambda: (
                any("DRAIN" in each.flags for each in client.nodes(made.cluster).nodes)
                or len(client.nodes(made.cluster).nodes) < 4
            ),
        )

        os.kill(made.daemon("slurmctld").pid, signal.SIGKILL)

        eventually("the controller is back", lambda: "slurmctld is back" in made.said())
        until_empty(made)
        assert made.wait_ended(made.submit("hostname")).state == "COMPLETED"
    finally:
        made.down()


def test_a_worker_that_never_comes_is_told_of_and_another_shape_takes_its_place(land: Land) -> None:
    made = land.up(land.home / "never", workers=None)
    try:
        # slurmd of a shape with one GPU ends at once: there is no such device.
        conf = made.path / "etc/slurm/gres.conf"
        conf.write_text(conf.read_text().replace("/etc/slurm/gpu0", "/etc/slurm/gone"))

        job = made.wait_ended(made.submit("true", cpus=1, memory="1G", gpus="l4:1"), timeout=90)

        assert (job.state, job.nodes) == ("COMPLETED", "gpu-l4-x4-1")
        [short] = made.client().fleet.show(made.cluster).shortages
        assert short.shape == "gpu-l4-x1"
        assert "/etc/slurm/gone" in short.why
    finally:
        made.down()

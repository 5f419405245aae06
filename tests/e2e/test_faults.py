"""What people see when parts of a cluster die under them."""

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from clusterra.core.errors import ClusterraError, Unanswered, Unreachable
from tests.cluster import Land, Running


@pytest.fixture(scope="module")
def fragile(land: Land) -> Iterator[Running]:
    """A cluster of its own, so that nobody else's test meets the damage."""
    made = land.up(land.home / "fragile")
    yield made
    made.down()


def pid_of(running: Running, daemon: str) -> int:
    daemons = json.loads((running.path / "run.json").read_text())["daemons"]
    return next(int(each["pid"]) for each in daemons if each["name"] == daemon)


def eventually(what: str, true: Callable[[], bool], timeout: float = 60) -> None:
    give_up = time.monotonic() + timeout
    while not true():
        if time.monotonic() > give_up:
            pytest.fail(f"still not so: {what}")
        time.sleep(0.05)


def is_gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True
    return state in "ZX"


def test_a_killed_controller_comes_back_and_meanwhile_answers_have_an_age(fragile: Running) -> None:
    client = fragile.client()
    job_id = fragile.submit("sleep 600", name="survivor")
    fragile.wait(job_id, until=lambda view: view.state == "RUNNING")
    # slurmctld saves its queue and its nodes every few seconds; killed before that, it forgets
    # them, and runs a job again whose node it does not know any more.
    ctld, began = fragile.path / "var/lib/slurm/ctld", time.time()

    def is_saved() -> bool:
        jobs, nodes = ctld / "job_state", ctld / "node_state"
        if not (jobs.exists() and nodes.exists() and jobs.stat().st_mtime > began):
            return False
        return all(name in nodes.read_bytes() for name in (b"w1", b"w2"))

    eventually("queue and nodes are saved", is_saved)
    old = pid_of(fragile, "slurmctld")
    os.kill(old, signal.SIGSTOP)
    try:
        eventually("said to be stale", lambda: client.cluster(fragile.cluster).stale, timeout=90)
        page = client.jobs(fragile.cluster)
        assert page.stale
        assert [job.name for job in page.jobs] == ["survivor"]
        assert (page.age_seconds or 0) > 0
    finally:
        os.kill(old, signal.SIGKILL)

    eventually("restarted", lambda: pid_of(fragile, "slurmctld") != old)
    eventually("seen again", lambda: not client.cluster(fragile.cluster).stale)
    assert client.job(fragile.cluster, job_id).state == "RUNNING"
    client.cancel(fragile.cluster, job_id)
    fragile.wait_ended(job_id)


def test_a_killed_slurmrestd_loses_no_job_and_makes_none_twice(fragile: Running) -> None:
    stop = threading.Event()

    def submit(number: int) -> str:
        """Submit as a careful program does: the same key until there is an answer."""
        body = json.dumps({"script": "#!/bin/sh\ntrue\n", "name": f"careful-{number}"}).encode()
        while True:
            try:
                fragile.submit_body(body, key=f"careful-{number}")
            except (Unreachable, Unanswered):
                time.sleep(0.2)
            except ClusterraError as error:
                return f"{number}: {error}"
            else:
                return ""

    def kill() -> None:
        while not stop.is_set():
            os.kill(pid_of(fragile, "slurmrestd"), signal.SIGKILL)
            stop.wait(1.5)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        with ThreadPoolExecutor(4) as pool:
            complaints = [text for text in pool.map(submit, range(60)) if text]
    finally:
        stop.set()
        killer.join()

    assert complaints == []
    client = fragile.client()
    eventually(
        "all are listed and ended",
        lambda: client.jobs(fragile.cluster, query="name:careful-* state:completed").total == 60,
        timeout=120,
    )
    assert client.jobs(fragile.cluster, query="name:careful-*").total == 60


def test_kill_9_of_the_supervisor_with_200_queued_jobs_loses_none(land: Land) -> None:
    running = land.up(land.home / "killed")
    with ThreadPoolExecutor(8) as pool:
        ids = list(pool.map(lambda n: running.submit("sleep 0.2", name=f"q{n}"), range(200)))
    assert len(set(ids)) == 200
    everything = [
        int(each["pid"]) for each in json.loads((running.path / "run.json").read_text())["daemons"]
    ]

    os.kill(running.pid, signal.SIGKILL)
    running.close()

    eventually("nothing is left", lambda: all(map(is_gone, everything)), timeout=30)
    again = land.up(land.home / "killed")
    try:
        client = again.client()
        eventually(
            "all have ended",
            lambda: client.jobs(again.cluster, query="name:q* state:live").total == 0,
            timeout=240,
        )
        page = client.jobs(again.cluster, query="name:q*", limit=1000)
        assert {job.state for job in page.jobs} == {"COMPLETED"}
        assert sorted(job.job_id for job in page.jobs) == sorted(ids)
        assert page.total == 200
    finally:
        again.down()

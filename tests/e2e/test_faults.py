"""What people see when parts of a cluster die under them."""

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from clusterra.core.errors import ClusterraError, Unanswered, Unreachable
from tests.cluster import Land, Running, eventually


@pytest.fixture(scope="module")
def fragile(land: Land) -> Iterator[Running]:
    """Start a cluster for tests that break it and see it mended."""
    made = land.up(land.home / "fragile")
    yield made
    made.down()


UNSAVED = 12
"""Seconds within which slurmctld saves what has changed: 5 to 10 were seen."""


def _let_it_save(running: Running) -> None:
    """Wait until slurmctld has saved its queue and its nodes, as it does every few seconds.

    Killed before that, it forgets them: it runs a job again whose node it does not know any
    more, and for minutes believes that a job runs which has long ended.
    """
    ctld = running.path / "var/lib/slurm/ctld"
    jobs, nodes = ctld / "job_state", ctld / "node_state"
    changed_at = 0.0

    def is_saved() -> bool:
        nonlocal changed_at
        if time.time() - changed_at > UNSAVED:
            # What has not changed is not saved again: a job makes sure that something has. And
            # another one, should the save have fallen between its end and our noticing it.
            assert takes_a_job(running)
            changed_at = time.time()
        if not (jobs.exists() and nodes.exists() and jobs.stat().st_mtime > changed_at):
            return False
        return all(name in nodes.read_bytes() for name in (b"w-1", b"w-2"))

    eventually("queue and nodes are saved", is_saved, timeout=60)


def test_a_killed_controller_comes_back_and_meanwhile_answers_have_an_age(fragile: Running) -> None:
    client = fragile.client()
    job_id = fragile.submit("sleep 600", name="survivor")
    fragile.wait(job_id, until=lambda view: view.state == "RUNNING")
    _let_it_save(fragile)
    old = fragile.daemon("slurmctld").pid
    os.kill(old, signal.SIGSTOP)
    try:
        eventually("said to be stale", lambda: client.cluster(fragile.cluster).stale, timeout=90)
        page = client.jobs(fragile.cluster, query="name:survivor")
        assert page.stale
        assert [job.job_id for job in page.jobs] == [job_id]
        assert (page.age_seconds or 0) > 0
    finally:
        os.kill(old, signal.SIGKILL)

    eventually("restarted", lambda: fragile.daemon("slurmctld").pid != old)
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
            fragile.crash("slurmrestd")
            stop.wait(0.5)

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


@pytest.mark.parametrize("daemon", ["slurmctld", "slurmdbd", "mariadbd", "control-plane", "agent"])
def test_a_crashed_daemon_is_back_and_it_was_said(fragile: Running, daemon: str) -> None:
    if daemon == "slurmctld":
        _let_it_save(fragile)
    said = len(fragile.said())

    before = fragile.crash(daemon)

    eventually("that it is back was said", lambda: f"{daemon} is back" in fragile.said()[said:])
    assert f"{daemon} was killed by signal 9; starting it again" in fragile.said()[said:]
    status = json.loads(fragile.cli("status", "--json").stdout)
    [shown] = [each for each in status["daemons"] if each["name"] == daemon]
    assert shown["restarts"] == before.restarts + 1
    eventually("it takes jobs", lambda: takes_a_job(fragile), timeout=60)


def test_a_killed_worker_is_back_and_its_jobs_live_on(fragile: Running) -> None:
    once = "echo >> ran-$SLURM_JOB_ID; until [ -e go-$SLURM_JOB_ID ]; do sleep 0.1; done"
    job = fragile.submit(once, name="lives-on")
    view = fragile.wait(job, until=lambda view: view.state == "RUNNING")
    before = fragile.slurmd(view.nodes)

    os.kill(before, signal.SIGKILL)

    eventually("its slurmd is back", lambda: fragile.slurmd(view.nodes) not in {0, before})
    here = Path(f"{fragile.path}{view.work_dir}")
    (here / f"go-{job}").touch()
    assert fragile.wait_ended(job).state == "COMPLETED"
    assert (here / f"ran-{job}").read_text().count("\n") == 1


def takes_a_job(running: Running) -> bool:
    try:
        return running.wait_ended(running.submit("hostname")).state == "COMPLETED"
    except Unreachable:
        return False


def test_a_crash_of_the_controller_leaves_no_job_held_and_no_worker_drained(one: Running) -> None:
    # Jobs that began only a moment ago are the ones slurmctld has not saved as running.
    first = one.submit("sleep 60", name="began")
    saved = one.path / "var/lib/slurm/ctld/job_state"
    eventually("the queue is saved", saved.exists)
    one.wait(first, until=lambda view: view.state == "RUNNING")

    os.kill(one.daemon("slurmctld").pid, signal.SIGKILL)

    eventually("the controller is back", lambda: "slurmctld is back" in one.said())
    eventually("it takes jobs", lambda: takes_a_job(one), timeout=60)
    nodes = one.client().nodes(one.cluster).nodes
    assert {node.state for node in nodes} <= {"IDLE", "MIXED", "ALLOCATED"}
    assert not any("DRAIN" in node.flags for node in nodes)

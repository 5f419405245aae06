"""Clusters that are killed outright, and come back with everything they had."""

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor

from clusterra.local.processes import children
from tests.cluster import ENDS_IF_IT_RUNS_AGAIN, Land, Running, descendants, eventually, gone


def test_a_running_job_starts_again_after_everything_was_killed(one: Running) -> None:
    job = one.submit(ENDS_IF_IT_RUNS_AGAIN)
    one.wait(job, until=lambda view: view.state == "RUNNING")
    saved = one.path / "var/lib/slurm/ctld/job_state"
    began = time.time()
    one.submit("true")  # what has not changed since then is not saved again
    eventually("the queue is saved", lambda: saved.exists() and saved.stat().st_mtime > began)
    everything = descendants(one.pid)

    # Supervisor and guard at once: nobody is left to stop anything in order.
    for pid in (one.pid, *children(one.pid)):
        os.kill(pid, signal.SIGKILL)

    eventually("nothing is left", lambda: gone(everything))
    again = one.land.up(one.path)
    assert again.wait_ended(job, timeout=90).state == "COMPLETED"
    again.close()


def test_kill_9_of_the_supervisor_stops_everything_in_order(one: Running) -> None:
    job = one.submit("true", name="just-submitted")
    everything = descendants(one.pid)

    os.kill(one.pid, signal.SIGKILL)

    eventually("nothing is left", lambda: gone(everything))
    log = (one.path / "var/log/slurm/slurmctld.log").read_text()
    assert "Saving all slurm state" in log
    again = one.land.up(one.path)
    assert again.wait_ended(job).state == "COMPLETED"
    again.close()


def test_a_start_right_after_kill_9_waits_for_the_old_one_to_end(one: Running) -> None:
    os.kill(one.pid, signal.SIGKILL)

    again = one.land.up(one.path)

    assert again.pid != one.pid
    assert again.wait_ended(again.submit("hostname")).state == "COMPLETED"
    again.close()


def test_kill_9_of_the_supervisor_with_200_queued_jobs_loses_none(land: Land) -> None:
    running = land.up(land.home / "killed")
    with ThreadPoolExecutor(8) as pool:
        ids = list(pool.map(lambda n: running.submit("sleep 0.2", name=f"q{n}"), range(200)))
    assert len(set(ids)) == 200
    everything = descendants(running.pid)

    os.kill(running.pid, signal.SIGKILL)
    running.close()

    eventually("nothing is left", lambda: gone(everything))
    # More workers than before, so that the jobs are over sooner.
    again = land.up(land.home / "killed", workers=8)
    try:
        client = again.client()
        eventually(
            "all have ended",
            lambda: client.jobs(again.cluster, query="name:q* state:live").total == 0,
            timeout=240,
        )
        page = client.jobs(again.cluster, query="name:q*", limit=1000)
        assert [job for job in page.jobs if job.state != "COMPLETED"] == []
        assert sorted(job.job_id for job in page.jobs) == sorted(ids)
        assert page.total == 200
    finally:
        again.down()

"""A job's whole life on a real Slurm, over HTTP and from the terminal."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from clusterra.core.errors import Conflict, Forbidden, NotFound, Refused
from clusterra.wire.jobs import EditJob
from tests.cluster import ENDED, REPOSITORY, Running

FOREVER = "sleep 600"


def test_the_first_job_of_the_readme_completes_and_shows_its_output(running: Running) -> None:
    done = running.cli("jobs", "submit", str(REPOSITORY / "examples/hello.sh"), "--wait")

    assert "Hello from" in done.stdout
    assert "completed" in done.stdout


def test_waiting_exits_with_the_code_of_the_job(running: Running, tmp_path: Path) -> None:
    script = "#!/bin/bash\nexit 7\n"

    done = running.cli("jobs", "submit", "-", "--wait", stdin=script, check=False)

    assert done.returncode == 7


def test_a_job_can_be_looked_up_listed_and_searched_after_it_ended(running: Running) -> None:
    job_id = running.submit(
        "echo out; echo err >&2", name="lookup-me", cpus=1, memory="64M", time="5m"
    )
    view = running.wait_ended(job_id)

    assert (view.state, view.exit_code, view.name) == ("COMPLETED", 0, "lookup-me")
    assert (view.cpus, view.memory_mib, view.time_limit_minutes) == (1, 64, 5)
    assert (
        view.submitted_at
        <= (view.started_at or view.submitted_at)
        <= (view.ended_at or view.submitted_at)
    )
    assert view.run_id
    assert running.client().output(running.cluster, job_id).data == b"out\nerr\n"
    listed = json.loads(running.cli("jobs", "list", "name:lookup-me", "--json").stdout)
    assert [job["job_id"] for job in listed["jobs"]] == [job_id]
    assert listed["next"] is None


def test_a_failing_job_says_how_it_failed(running: Running) -> None:
    failed = running.wait_ended(running.submit("exit 3"))
    killed = running.wait_ended(running.submit("kill -SEGV $$"))

    assert (failed.state, failed.exit_code) == ("FAILED", 3)
    assert (killed.state, killed.signal) == ("FAILED", 11)


def test_a_running_job_is_cancelled_once(running: Running) -> None:
    client, job_id = running.client(), running.submit(FOREVER)
    running.wait(job_id, until=lambda view: view.state == "RUNNING")

    assert client.cancel(running.cluster, job_id).act == "cancel"

    assert running.wait_ended(job_id).state == "CANCELLED"
    with pytest.raises(Conflict, match="has ended already"):
        client.cancel(running.cluster, job_id)


def test_a_held_job_waits_until_it_is_released(running: Running) -> None:
    client, job_id = running.client(), running.submit("true", hold=True)
    held = running.wait(job_id, until=lambda view: view.reason == "JobHeldUser")
    assert held.state == "PENDING"

    client.act(running.cluster, job_id, "release")

    assert running.wait_ended(job_id).state == "COMPLETED"
    with pytest.raises(Conflict, match="only a waiting job can be held"):
        client.act(running.cluster, job_id, "hold")


def test_a_waiting_job_can_be_held_and_edited(running: Running) -> None:
    client = running.client()
    job_id = running.submit("true", begin="now+1hour")
    running.wait(job_id, until=lambda view: view.reason == "BeginTime")

    client.act(running.cluster, job_id, "hold")
    client.edit(running.cluster, job_id, EditJob(name="renamed", time="2h"))

    changed = running.wait(job_id, until=lambda view: view.name == "renamed")
    assert changed.time_limit_minutes == 120
    client.cancel(running.cluster, job_id)
    assert running.wait_ended(job_id).state == "CANCELLED"


def test_a_requeued_job_runs_again_and_stays_one_job(running: Running) -> None:
    client, job_id = running.client(), running.submit(FOREVER, name="again")
    running.wait(job_id, until=lambda view: view.state == "RUNNING")
    if running.slurm["api_version"] < "v0.0.45":
        with pytest.raises(Refused, match=r"26\.05"):
            client.act(running.cluster, job_id, "requeue")
    else:
        client.act(running.cluster, job_id, "requeue")
        running.wait(job_id, until=lambda view: view.restarts == 1)
    client.cancel(running.cluster, job_id)
    running.wait_ended(job_id)

    assert client.jobs(running.cluster, query="name:again").total == 1


def test_each_task_of_an_array_is_a_job_with_its_own_label(running: Running) -> None:
    first = running.submit("exit $SLURM_ARRAY_TASK_ID", array="0-3", name="four")
    client = running.client()
    for task in range(4):
        done = running.wait_ended(f"{first}_{task}")
        assert (done.label, done.exit_code) == (f"{first}_{task}", task)

    assert client.jobs(running.cluster, query=f"array:{first}").total == 4


def test_the_raw_body_of_slurmrestd_is_taken_and_completed(running: Running) -> None:
    body = {"script": "#!/bin/bash\npwd\n", "job": {"name": "raw", "nodes": "1", "colour": "red"}}

    accepted = running.submit_body(json.dumps(body).encode())

    job_id = accepted["job_id"]
    assert any("colour" in warning for warning in accepted["warnings"])
    view = running.wait_ended(job_id)
    assert view.state == "COMPLETED"
    assert view.stdout.endswith(f"/job_{job_id}.out")
    output = running.client().output(running.cluster, job_id)
    assert output.data.decode().strip() == view.work_dir


def test_sbatch_lines_are_read_and_the_request_has_the_last_word(running: Running) -> None:
    script = "#SBATCH --job-name=from-script --time=7\n#SBATCH --mem=100M\ntrue"

    view = running.wait_ended(running.submit(script, time="3m"))

    assert (view.name, view.time_limit_minutes, view.memory_mib) == ("from-script", 3, 100)


def test_a_repeated_request_makes_one_job(running: Running) -> None:
    body = json.dumps({"script": "#!/bin/bash\ntrue\n", "name": "once"}).encode()
    start = threading.Barrier(4)

    def send(_: int) -> int:
        start.wait()
        return int(running.submit_body(body, key="once-key")["job_id"])

    with ThreadPoolExecutor(4) as pool:
        ids = set(pool.map(send, range(4)))

    assert len(ids) == 1
    running.wait_ended(ids.pop())
    assert running.client().jobs(running.cluster, query="name:once").total == 1
    with pytest.raises(Conflict, match="was used for another request"):
        running.submit_body(body + b" ", key="once-key")


def test_many_jobs_are_cancelled_by_a_query_that_is_first_only_counted(running: Running) -> None:
    ids = [running.submit(FOREVER, name="bulk", begin="now+1hour") for _ in range(5)]
    for job_id in ids:
        running.wait(job_id, until=lambda view: view.state == "PENDING")

    counted = json.loads(
        running.cli("jobs", "cancel", "--query", "name:bulk", "--yes", "--json").stdout
    )

    assert counted["count"] == 5
    assert {running.wait_ended(job_id).state for job_id in ids} == {"CANCELLED"}


def test_a_job_too_big_for_now_waits_and_one_too_big_for_ever_is_refused(running: Running) -> None:
    nodes = running.nodes(2)
    big = running.submit("true", cpus=max(node.cpus for node in nodes) + 1)
    waiting = running.wait(big, until=lambda view: bool(view.reason))

    assert waiting.state == "PENDING"
    running.client().cancel(running.cluster, big)
    with pytest.raises(Refused):
        running.submit("true", cpus=10_000)


def test_nobody_cancels_a_foreign_job_but_the_admin(running: Running, needs_root: None) -> None:
    job_id = running.submit(FOREVER, person="ana")

    with pytest.raises(Forbidden, match="belongs to ana; you are ben"):
        running.client("ben").cancel(running.cluster, job_id)

    running.client().cancel(running.cluster, job_id)
    assert running.wait_ended(job_id).state == "CANCELLED"


def test_an_unknown_job_is_not_found(running: Running) -> None:
    with pytest.raises(NotFound, match="There is no job 4000000"):
        running.client().job(running.cluster, "4000000")


def test_nodes_partitions_and_clusters_are_shown(running: Running) -> None:
    [cluster] = running.client().clusters().clusters
    nodes = running.nodes(2)
    [partition] = running.client().partitions(running.cluster).partitions

    assert (cluster.id, cluster.state, cluster.stale) == (running.cluster, "up", False)
    assert cluster.slurm is not None
    assert cluster.slurm.version == running.slurm["version"]
    assert len(nodes) == 2
    # Older versions do not say which partition is the default one.
    assert partition.default or running.slurm["api_version"] < "v0.0.45"
    assert set(cluster.jobs) <= ENDED | {"PENDING", "RUNNING"}

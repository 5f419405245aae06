"""`clusterra up`, `down`, `status`: clusters that come, go, and come back whole."""

import json
import os
import signal
import socket
import subprocess

from clusterra.local.processes import process
from tests.cluster import (
    ENDS_IF_IT_RUNS_AGAIN,
    VARIANT,
    Land,
    Running,
    descendants,
    gone,
)


def test_two_clusters_run_side_by_side_and_leave_no_process(land: Land) -> None:
    first = land.up(land.home / "left")
    second = land.up(land.home / "right", workers=1)
    try:
        jobs = [each.submit("hostname") for each in (first, second)]
        ended = [
            each.wait_ended(job).state for each, job in zip((first, second), jobs, strict=True)
        ]
        processes = {first.pid, second.pid} | descendants(first.pid) | descendants(second.pid)
    finally:
        first.down()
        second.down()

    assert ended == ["COMPLETED", "COMPLETED"]
    assert first.cluster != second.cluster
    assert len(processes) > 15
    assert gone(processes)
    assert land.run("status", "--state", first.state, check=False).returncode == 5


def test_what_is_printed_for_programs_is_exactly_this(running: Running) -> None:
    answer = json.loads(running.cli("up", "--detach", "--json").stdout)

    assert answer == {
        "url": running.url,
        "token_file": f"{running.state}/token",
        "cluster": running.cluster,
        "state": running.state,
        "pid": running.pid,
        "slurm": running.slurm,
    }
    assert running.slurm["version"].startswith("24.11" if VARIANT == "stable" else "26.05")
    assert running.slurm["api_version"] == ("v0.0.42" if VARIANT == "stable" else "v0.0.45")
    assert process(running.pid) is not None


def test_a_cluster_that_is_up_is_not_started_twice(running: Running) -> None:
    said = running.cli("up").stdout

    assert "is up already" in said
    assert running.url in said


def test_stopping_what_does_not_run_is_no_mistake(land: Land) -> None:
    done = land.run("down", "--state", str(land.home / "never"))

    assert "Nothing runs from" in done.stdout


def test_history_and_address_survive_a_stop_and_a_start_in_a_deep_directory(land: Land) -> None:
    # The address of a socket holds 107 bytes.
    state = land.home / "/".join(["a-rather-long-name-of-a-directory"] * 5)
    before = land.up(state)
    job = before.submit("hostname")
    assert before.wait_ended(job).state == "COMPLETED"
    before.down()

    # No --port, --suite or --rootfs: what was chosen at first is remembered.
    after = Running(
        land=land,
        **json.loads(
            land.run("up", "--detach", "--json", "--workers", "2", "--state", str(state)).stdout
        ),
    )
    try:
        assert after.url == before.url
        assert after.slurm == before.slurm
        assert after.cluster == before.cluster
        assert after.wait_ended(job).state == "COMPLETED"
    finally:
        after.down()


def test_fewer_workers_than_before_leave_none_that_waits_for_work(land: Land) -> None:
    state = land.home / "shrinking"
    before = land.up(state)
    jobs = [before.submit(ENDS_IF_IT_RUNS_AGAIN, cpus=os.cpu_count()) for _ in range(2)]
    for job in jobs:
        before.wait(job, until=lambda view: view.state == "RUNNING")
    before.down()

    fewer = land.up(state, workers=1)
    try:
        jobs += [fewer.submit("hostname") for _ in range(4)]
        ended = [fewer.wait_ended(job, timeout=90) for job in jobs]
        assert [view for view in ended if view.state != "COMPLETED"] == []
        assert [node.name for node in fewer.nodes(1)] == ["w-1"]
    finally:
        fewer.down()


def test_a_cluster_without_workers_lets_jobs_wait(land: Land) -> None:
    empty = land.up(land.home / "empty", workers=0)
    try:
        job = empty.submit("hostname")
        assert empty.wait(job, until=lambda view: view.state == "PENDING").state == "PENDING"
    finally:
        empty.down()


def test_a_port_that_is_taken_is_refused_with_the_name_of_who_has_it(land: Land) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        state = str(land.home / "no-port")
        done = land.run("up", "--state", state, "--port", str(port), *land.options, check=False)

    assert done.returncode == 3
    assert f"Port {port} is taken" in done.stderr
    if VARIANT != "user":  # who else's socket it is, only root can see
        assert f"pid {os.getpid()}" in done.stderr
    assert "--port 0" in done.stderr


def test_a_state_directory_that_cannot_be_written_is_refused(land: Land) -> None:
    (land.home / "file").touch()

    done = land.run("up", "--state", str(land.home / "file" / "state"), check=False)

    assert done.returncode == 3
    assert "cannot be written" in done.stderr
    assert "--state" in done.stderr


def test_ctrl_c_stops_everything_in_order_and_says_what_happens(land: Land) -> None:
    state = land.home / "foreground"
    with subprocess.Popen(
        [*land.command, "up", "--port", "0", "--state", str(state), *land.options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | land.environ | {"PYTHONUNBUFFERED": "1"},
    ) as foreground:
        assert foreground.stdout is not None
        said = []
        for line in foreground.stdout:
            said.append(line)
            if "Stop:" in line:
                break
        everything = descendants(foreground.pid)
        foreground.send_signal(signal.SIGINT)
        said += list(foreground.stdout)
        assert foreground.wait(timeout=60) == 0

    text = "".join(said)
    assert "Clusterra is up    http://127.0.0.1:" in text
    assert "Stopping in order" in text
    assert "Everything is kept" in text
    assert gone(everything)


def test_a_start_that_fails_says_which_daemon_and_shows_its_last_words(land: Land) -> None:
    state = land.home / "broken"
    land.up(state).down()
    (state / "var/lib/mysql/ibdata1").write_bytes(b"this is not a database")

    done = land.run("up", "--detach", "--state", str(state), check=False)

    assert done.returncode == 3
    assert "mariadbd ended with code" in done.stderr
    assert "var/log/slurm/mariadbd.log" in done.stderr
    assert land.run("status", "--state", str(state), check=False).returncode == 5

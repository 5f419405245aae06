"""`clusterra up`, `down`, `status`: clusters that come, go, and come back whole."""

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from clusterra.core.errors import Unreachable
from clusterra.local.processes import children, process
from tests.cluster import VARIANT, Land, Running


def descendants(pid: int) -> set[int]:
    found = set(children(pid))
    return found.union(*(descendants(each) for each in found))


def gone(pids: set[int]) -> bool:
    return all(process(pid) is None for pid in pids)


def eventually(what: str, true: Callable[[], bool], timeout: float = 30) -> None:
    give_up = time.monotonic() + timeout
    while not true():
        if time.monotonic() > give_up:
            pytest.fail(f"still not so: {what}")
        time.sleep(0.05)


def daemons(running: Running) -> dict[str, dict[str, object]]:
    told = json.loads(running.cli("status", "--json").stdout)
    return {each["name"]: each for each in told["daemons"]}


@pytest.fixture
def one(land: Land, tmp_path: Path) -> Iterator[Running]:
    made = land.up(land.home / f"up-{tmp_path.name}")
    yield made
    made.down()
    shutil.rmtree(made.path)  # 80 MB each


def test_two_clusters_run_side_by_side_and_leave_no_process(land: Land) -> None:
    first = land.up(land.home / "left")
    second = land.up(land.home / "right", "--workers", "1")
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


def test_what_is_printed_for_programs_is_exactly_this(one: Running) -> None:
    answer = json.loads(one.cli("up", "--detach", "--json").stdout)

    assert answer == {
        "url": one.url,
        "token_file": f"{one.state}/token",
        "cluster": one.cluster,
        "state": one.state,
        "pid": one.pid,
        "slurm": one.slurm,
    }
    assert one.slurm["version"].startswith("24.11" if VARIANT == "stable" else "26.05")
    assert one.slurm["api_version"] == ("v0.0.42" if VARIANT == "stable" else "v0.0.45")
    assert process(one.pid) is not None


def test_a_cluster_that_is_up_is_not_started_twice(one: Running) -> None:
    said = one.cli("up").stdout

    assert "is up already" in said
    assert one.url in said


def test_stopping_what_does_not_run_is_no_mistake(land: Land) -> None:
    done = land.run("down", "--state", str(land.home / "never"))

    assert "Nothing runs from" in done.stdout


def test_history_and_address_survive_a_stop_and_a_start(land: Land) -> None:
    state = land.home / "returning"
    before = land.up(state)
    job = before.submit("hostname")
    before.wait_ended(job)
    before.down()

    # No --port, --suite or --rootfs: what was chosen at first is remembered.
    after = Running(
        land=land,
        **json.loads(land.run("up", "--detach", "--json", "--state", str(state)).stdout),
    )
    try:
        assert after.url == before.url
        assert after.slurm == before.slurm
        assert after.cluster == before.cluster
        assert after.wait_ended(job).state == "COMPLETED"
    finally:
        after.down()


def test_a_running_job_starts_again_after_everything_was_killed(one: Running) -> None:
    job = one.submit(
        "echo started >> again.txt; [ $(wc -l < again.txt) -ge 2 ] || sleep 600", name="again"
    )
    one.wait(job, until=lambda view: view.state == "RUNNING")
    saved = one.path / "var/lib/slurm/ctld/job_state"
    began = time.time()
    eventually("the queue is saved", lambda: saved.exists() and saved.stat().st_mtime > began)
    everything = descendants(one.pid)

    # Supervisor and guard at once: nobody is left to stop anything in order.
    for pid in (one.pid, *children(one.pid)):
        os.kill(pid, signal.SIGKILL)

    eventually("nothing is left", lambda: gone(everything), timeout=20)
    again = one.land.up(one.path)
    # Between its two runs Slurm itself says for a moment that the first one ended.
    again.wait(job, until=lambda view: view.state == "COMPLETED", timeout=90)
    again.close()


def test_kill_9_of_the_supervisor_stops_everything_in_order(one: Running) -> None:
    job = one.submit("true", name="just-submitted")
    everything = descendants(one.pid)

    os.kill(one.pid, signal.SIGKILL)

    eventually("nothing is left", lambda: gone(everything), timeout=20)
    log = (one.path / "var/log/slurm/slurmctld.log").read_text()
    assert "Saving all slurm state" in log
    again = one.land.up(one.path)
    again.wait(job, until=lambda view: view.state == "COMPLETED")
    again.close()


def test_a_start_right_after_kill_9_waits_for_the_old_one_to_end(one: Running) -> None:
    os.kill(one.pid, signal.SIGKILL)

    again = one.land.up(one.path)

    assert again.pid != one.pid
    assert again.wait_ended(again.submit("hostname")).state == "COMPLETED"
    again.close()


@pytest.mark.parametrize("daemon", ["slurmctld", "slurmdbd", "mariadbd", "control-plane", "w1"])
def test_a_crashed_daemon_is_back_and_it_was_said(one: Running, daemon: str) -> None:
    before = daemons(one)[daemon]

    os.kill(int(str(before["pid"])), signal.SIGKILL)

    def is_back() -> bool:
        now = daemons(one)[daemon]
        return bool(now["ready"]) and now["pid"] != before["pid"] and now["restarts"] == 1

    eventually(f"{daemon} is back", is_back)
    log = (one.path / "up.log").read_text()
    assert f"{daemon} was killed by signal 9; starting it again" in log
    eventually("that it is back was said", lambda: f"{daemon} is back" in one_log(one))
    eventually("it takes jobs", lambda: takes_a_job(one), timeout=60)


def one_log(running: Running) -> str:
    return (running.path / "up.log").read_text()


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

    os.kill(int(str(daemons(one)["slurmctld"]["pid"])), signal.SIGKILL)

    eventually("the controller is back", lambda: "slurmctld is back" in one_log(one))
    eventually("it takes jobs", lambda: takes_a_job(one), timeout=60)
    nodes = one.client().nodes(one.cluster).nodes
    assert {node.state for node in nodes} <= {"IDLE", "MIXED", "ALLOCATED"}
    assert not any("DRAIN" in node.flags for node in nodes)


def test_fewer_workers_than_before_leave_none_that_waits_for_work(land: Land) -> None:
    state = land.home / "shrinking"
    before = land.up(state, "--workers", "2")
    running = [before.submit("sleep 3", cpus=os.cpu_count()) for _ in range(2)]
    for job in running:
        before.wait(job, until=lambda view: view.state == "RUNNING")
    before.down()

    fewer = land.up(state, "--workers", "1")
    try:
        for job in [*running, *(fewer.submit("hostname") for _ in range(4))]:
            fewer.wait(job, until=lambda view: view.state == "COMPLETED", timeout=90)
        assert [node.name for node in fewer.client().nodes(fewer.cluster).nodes] == ["w1"]
    finally:
        fewer.down()


def test_a_cluster_without_workers_lets_jobs_wait(land: Land) -> None:
    empty = land.up(land.home / "empty", "--workers", "0")
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


def test_a_deep_state_directory_is_no_problem(land: Land) -> None:
    deep = land.up(land.home / "/".join(["a-rather-long-name-of-a-directory"] * 5))
    try:
        assert deep.wait_ended(deep.submit("hostname")).state == "COMPLETED"
    finally:
        deep.down()


def test_a_start_that_fails_says_which_daemon_and_shows_its_last_words(land: Land) -> None:
    state = land.home / "broken"
    land.up(state).down()
    (state / "var/lib/mysql/ibdata1").write_bytes(b"this is not a database")

    done = land.run("up", "--detach", "--state", str(state), check=False)

    assert done.returncode == 3
    assert "mariadbd ended with code" in done.stderr
    assert "var/log/slurm/mariadbd.log" in done.stderr
    assert land.run("status", "--state", str(state), check=False).returncode == 5


def test_the_doctor_finds_nothing_wrong_with_this_machine(one: Running) -> None:
    checks = json.loads(one.cli("doctor", "--json").stdout)

    assert checks["ok"]
    assert {each["what"] for each in checks["checks"]} >= {"python", "namespaces", "state", "port"}


def test_the_doctor_finds_nothing_wrong_with_the_slurm_of_the_cluster(one: Running) -> None:
    key = f"{one.state}/etc/slurm/jwt_hs256.key"

    good = one.cli("doctor", "--slurm", one.slurm["url"], "--jwt-key", key, "--user", "root")

    assert one.slurm["api_version"] in good.stdout
    assert "✗" not in good.stdout


def test_the_doctor_tells_a_wrong_key_from_a_wrong_address(one: Running, tmp_path: Path) -> None:
    wrong = Path(one.state) / "wrong.key"
    wrong.write_bytes(os.urandom(32))
    wrong.chmod(0o644)
    url = one.slurm["url"]

    key = one.cli("doctor", "--slurm", url, "--jwt-key", str(wrong), check=False)
    address = one.cli("doctor", "--slurm", "http://127.0.0.1:1", check=False)

    assert key.returncode == address.returncode == 3
    assert "AuthAltTypes=auth/jwt" in key.stdout
    assert "does not answer" in address.stdout
    assert "slurmrestd" in address.stdout

"""What real jobs write, followed from before they start to after their end."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from clusterra.client.logs import piece_of
from clusterra.client.stream import Told
from clusterra.core.errors import Forbidden, NotFound, Refused
from tests.cluster import Running, eventually


@dataclass
class Follower:
    """Somebody who follows a job in a thread of their own."""

    running: Running
    job: str
    person: str = ""
    stream: str = "stdout"
    told: list[Told] = field(default_factory=list)
    failed: list[Exception] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def _follow(self) -> None:
        client = self.running.client(self.person)
        try:
            for told in client.logs.follow(self.running.cluster, self.job, stream=self.stream):
                self.told.append(told)
        except Exception as error:  # noqa: BLE001 - told to whoever waits
            self.failed.append(error)

    @property
    def data(self) -> bytes:
        """The bytes since the file last began."""
        data = b""
        for each in tuple(self.told):
            if each.type == "reset":
                data = b""
            elif each.type == "output":
                data += piece_of(each.data)
        return data

    def hear(self, data: bytes) -> None:
        eventually(f"{data!r} is heard, not {self.data!r}", lambda: data in self.data)

    def told_of(self, kind: str) -> list[Any]:
        return [json.loads(each.data) for each in tuple(self.told) if each.type == kind]

    def wait(self, timeout: float = 60) -> bytes:
        """Return all of it once the stream has ended."""
        self._thread.join(timeout)
        assert not self._thread.is_alive(), self.told[-3:]
        assert not self.failed, self.failed
        return self.data


def file_of(running: Running, job_id: int | str) -> Path:
    """Return a job's output as this machine sees it."""
    path = running.client().job(running.cluster, job_id).stdout
    return running.path / path.lstrip("/")


@contextmanager
def a_job_that_waits(running: Running, script: str, **more: Any) -> Iterator[int]:
    job_id = running.submit(script, **more)
    try:
        yield job_id
    finally:
        view = running.client().job(running.cluster, job_id)
        if view.state in {"RUNNING", "PENDING"}:
            running.client().cancel(running.cluster, job_id)


def test_a_job_is_followed_live_from_before_its_start_to_its_last_byte(running: Running) -> None:
    script = "for n in $(seq 60); do echo line $n 四; sleep 0.02; done; printf 'no newline'"
    job_id = running.submit(script)

    follower = Follower(running, str(job_id))
    data = follower.wait()

    expected = "".join(f"line {n} 四\n" for n in range(1, 61)).encode() + b"no newline"
    assert data == expected == running.client().output(running.cluster, job_id).data
    assert follower.told_of("end") == [{"size": len(expected), "state": "COMPLETED"}]
    assert len(follower.told_of("output")) > 5, "it came as it was written"


def test_each_task_of_an_array_is_followed_by_its_own_name(running: Running) -> None:
    job_id = running.submit("echo task $SLURM_ARRAY_TASK_ID", array="1-3")

    followers = {task: Follower(running, f"{job_id}_{task}") for task in (1, 2, 3)}

    for task, follower in followers.items():
        assert follower.wait() == f"task {task}\n".encode(), (
            follower.told,
            _known(running, job_id),
        )


def _known(running: Running, job_id: int) -> list[tuple[str, str, str]]:
    """Return what is known of an array's tasks, to be shown when a test fails."""
    found = running.client().jobs(running.cluster, f"array:{job_id}").jobs
    return [(each.label, each.state, each.stdout) for each in found]


def test_errors_with_a_file_of_their_own_are_followed_apart(running: Running) -> None:
    job_id = running.submit("echo out; echo err >&2", error="apart-%j.err")

    assert Follower(running, str(job_id)).wait() == b"out\n"
    assert Follower(running, str(job_id), stream="stderr").wait() == b"err\n"


def test_bytes_that_are_no_text_arrive_as_they_were_written(running: Running) -> None:
    job_id = running.submit("head -c 3000000 /dev/urandom | tee copy-$SLURM_JOB_ID")

    data = Follower(running, str(job_id)).wait()

    assert len(data) == 3_000_000
    copied = running.submit(f"cat copy-{job_id}")
    running.wait_ended(copied)
    assert data == b"".join(running.client().logs.pieces(running.cluster, copied))


def test_a_cancelled_job_ends_the_stream_with_what_it_wrote(running: Running) -> None:
    job_id = running.submit("trap 'echo going; exit 1' TERM; echo here; sleep 600 & wait")
    follower = Follower(running, str(job_id))
    follower.hear(b"here\n")

    running.client().cancel(running.cluster, job_id)

    follower.wait()
    assert follower.told_of("end")[0]["state"] in {"CANCELLED", "FAILED"}
    assert follower.told_of("end")[0]["size"] == len(follower.data)


def test_a_log_that_is_truncated_removed_or_replaced_is_followed_on(running: Running) -> None:
    script = "echo begin; while [ ! -e stop-$SLURM_JOB_ID ]; do sleep 0.05; done; echo end"
    with a_job_that_waits(running, script) as job_id:
        follower = Follower(running, str(job_id))
        follower.hear(b"begin\n")
        file = file_of(running, job_id)

        with file.open("r+b") as opened:
            opened.truncate(0)
        eventually("it begins again", lambda: follower.told_of("reset") != [])
        with file.open("ab") as opened:
            opened.write(b"after\n")
        follower.hear(b"after\n")

        file.unlink()
        (file.parent / f"stop-{job_id}").touch()
        running.wait_ended(job_id)
        # Written to a file without a name, and read all the same.
        assert follower.wait().endswith(b"end\n")


def test_one_cannot_follow_or_search_what_the_others_job_writes(
    running: Running, needs_root: None
) -> None:
    with a_job_that_waits(running, "echo secret; sleep 600", person="ana") as job_id:
        running.wait(job_id, until=lambda view: view.state == "RUNNING")
        ben = running.client("ben").logs
        for asking in (
            lambda: list(ben.follow(running.cluster, job_id)),
            lambda: list(ben.pieces(running.cluster, job_id)),
            lambda: ben.search(running.cluster, job_id, "secret"),
        ):
            with pytest.raises((Forbidden, NotFound)):
                asking()
        hers = Follower(running, str(job_id), person="ana")
        hers.hear(b"secret\n")


def test_one_cannot_follow_it_through_a_link_or_by_calling_it_ones_own(
    running: Running, needs_root: None
) -> None:
    running.wait_ended(running.submit("echo secret > ~/kept", person="ana"))
    named = running.submit("true", person="ben", output="/home/ana/kept")
    linked = running.submit(
        "ln -sf /home/ana/kept out-$SLURM_JOB_ID.link; sleep 1", person="ben", output="out-%j.txt"
    )
    for job_id in (named, linked):
        running.wait_ended(job_id)
    file = file_of(running, linked)
    file.unlink()
    file.symlink_to("/home/ana/kept")

    for job_id in (named, linked):
        with pytest.raises(Refused):
            list(running.client("ben").logs.follow(running.cluster, job_id))
        with pytest.raises(Refused):
            running.client("ben").output(running.cluster, job_id)


def test_ten_gigabytes_are_tailed_and_not_read_for_it(running: Running) -> None:
    with a_job_that_waits(running, "echo begin; sleep 600") as job_id:
        Follower(running, str(job_id)).hear(b"begin\n")
        with file_of(running, job_id).open("r+b") as opened:
            opened.truncate(10 << 30)
            opened.seek(0, 2)
            opened.write(b"\nneedle here\nend\n")
        client = running.client()
        began = time.monotonic()
        tail = client.output(running.cluster, job_id, tail=16)
        lines = b"".join(client.logs.pieces(running.cluster, job_id, lines=2))
        taken = time.monotonic() - began

    assert tail.data == b"needle here\nend\n"
    assert tail.size == (10 << 30) + 17
    assert lines == b"needle here\nend\n"
    assert taken < 2


def test_the_terminal_follows_a_job_and_says_how_it_went(running: Running) -> None:
    job_id = running.submit("echo one; sleep 0.5; echo two; exit 3")

    done = running.cli("jobs", "logs", str(job_id), "-f")
    found = running.cli("jobs", "logs", str(job_id), "--grep", "tw")

    assert done.stdout == "one\ntwo\n"
    assert "✗ failed with exit code 3" in done.stderr
    assert found.stdout == "2: two\n"

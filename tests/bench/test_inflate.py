"""The long queue is made of what slurmrestd really sends, as long as it says it is."""

import json
from collections import Counter

import pytest

from bench.inflate import FIRST_ID, Queue
from clusterra.adapters.slurmrest.decode import read
from clusterra.adapters.slurmrest.jobs import JobInfo, job
from clusterra.core.jobs.job import JobState


@pytest.mark.parametrize("jobs", [0, 1, 63, 64, 65, 1_000])
def test_the_length_of_a_list_is_known_before_any_of_it_is_written(jobs: int) -> None:
    queue = Queue(jobs=jobs, job_bytes=8_000)

    reply = b"".join(queue.reply())

    assert len(reply) == queue.length()
    assert len(json.loads(reply)["jobs"]) == jobs


def test_jobs_are_about_as_large_as_asked_and_all_different() -> None:
    queue = Queue(jobs=500, job_bytes=8_000)
    bodies = [queue.job(index) for index in range(500)]

    assert all(abs(len(body) - 8_000) < 50 for body in bodies)
    assert len({json.loads(body)["job_id"] for body in bodies}) == 500


def test_the_adapter_understands_what_the_queue_holds() -> None:
    queue = Queue(jobs=1_000, job_bytes=8_000)

    found = [job(read(queue.job(index), JobInfo)) for index in range(1_000)]

    states = Counter(each.state for each in found)
    assert states[JobState.PENDING] > 200
    assert states[JobState.RUNNING] > 20
    assert found[0].id == FIRST_ID
    assert found[0].submitted_at < found[-1].submitted_at
    assert any(each.user == "user07" and each.state == "FAILED" for each in found)


def test_an_idle_queue_holds_only_jobs_that_have_ended() -> None:
    states = json.loads(Queue(jobs=300, job_bytes=8_000, idle=True).states())["jobs"]

    assert len(states) == 300
    assert not {"PENDING", "RUNNING"} & {each["state"][0] for each in states}


def test_one_job_is_the_same_alone_as_in_the_list() -> None:
    queue = Queue(jobs=10, job_bytes=8_000)

    alone = queue.one(FIRST_ID + 3)

    assert alone is not None
    assert json.loads(alone)["jobs"] == [json.loads(b"".join(queue.reply()))["jobs"][3]]
    assert queue.one(FIRST_ID + 10) is None

"""Runs of a job and their interruptions, as slurmctld and accounting tell of them.

The rows are those that Slurm 24.11 and 26.05 gave of real jobs.
"""

from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from clusterra.adapters.slurmrest.accounting import PastJob, past_job
from clusterra.adapters.slurmrest.jobs import JobInfo, job
from clusterra.adapters.slurmrest.runs import Runs, earlier_runs, superseded
from clusterra.core.cost.bill import stretches
from clusterra.core.jobs.job import Job, JobState
from tests.builders import NOON

START = int(NOON.timestamp())


def after(seconds: int) -> datetime:
    return NOON + timedelta(seconds=seconds)


def live(state: str = "RUNNING", **times: int) -> Job:
    info = {
        "job_id": 7,
        "job_state": [state],
        "nodes": "w1",
        "start_time": {"set": True, "number": START},
        "end_time": {"set": True, "number": START + times.pop("end_time", 300)},
        **{
            name: {"set": True, "number": START + at if name != "pre_sus_time" else at}
            for name, at in times.items()
        },
    }
    return job(msgspec.convert(info, JobInfo))


def row(
    *words: str,
    submitted: int,
    start: int | None = None,
    end: int | None = None,
    restarts: int = 0,
    nodes: str = "w1",
    user: str = "ana",
    **times: int,
) -> PastJob:
    times |= {"submission": START + submitted}
    if start is not None:
        times |= {"start": START + start, "end": 0 if end is None else START + end}
    fields: dict[str, Any] = {
        "job_id": 7,
        "state": {"current": words},
        "restart_cnt": restarts,
        "nodes": nodes if start is not None else "None assigned",
        "time": times,
        "user": user,
        "tres": {"allocated": [{"type": "cpu", "count": 2 * len(nodes.split(","))}]},
    }
    return msgspec.convert(fields, PastJob)


WAITING = row("PENDING", submitted=100, restarts=1)


def test_a_run_that_was_never_interrupted_says_so() -> None:
    running = live(suspend_time=-START, pre_sus_time=0, resize_time=-START)

    assert (running.paused_at, running.suspended_seconds, running.resized_at) == (None, 0, None)


@pytest.mark.parametrize(
    ("state", "paused_at", "ran_before", "suspended"),
    [
        ("SUSPENDED", 2, 2, 0),
        ("RUNNING", 4, 2, 2),
        ("SUSPENDED", 6, 4, 2),
        ("RUNNING", 8, 4, 4),
        ("COMPLETED", 8, 4, 4),
        ("RUNNING", 8, 9, 0),
    ],
)
def test_how_long_a_run_was_suspended_follows_from_how_long_it_ran(
    state: str, paused_at: int, ran_before: int, suspended: int
) -> None:
    found = live(state, suspend_time=paused_at, pre_sus_time=ran_before)

    assert (found.paused_at, found.suspended_seconds) == (after(paused_at), suspended)


def test_a_job_that_waits_has_no_interruptions_even_if_slurm_has_those_of_the_run_before() -> None:
    waiting = live("PENDING", suspend_time=4, pre_sus_time=2, resize_time=3)

    assert (waiting.paused_at, waiting.suspended_seconds) == (None, 0)
    assert waiting.resized_at is None


def test_a_resize_before_the_start_was_that_of_another_run() -> None:
    assert live(resize_time=-1).resized_at is None
    assert live(resize_time=2).resized_at == after(2)


def test_a_run_that_accounting_has_as_suspended_is_paid_for_as_long_as_it_ran() -> None:
    found = past_job(row("SUSPENDED", submitted=0, start=0, elapsed=5, suspended=600))

    [paid] = stretches(found, after(9999))
    assert (paid.since, paid.until) == (NOON, after(5))


@pytest.mark.parametrize("word", ["REQUEUED", "NODE_FAIL", "PREEMPTED"])
def test_the_run_before_is_found_whatever_accounting_calls_it(word: str) -> None:
    words = ("PENDING", word) if word == "REQUEUED" else (word,)
    before = row(*words, submitted=0, start=1, end=100, suspended=4)

    [run] = earlier_runs([WAITING, before])

    assert (run.state, run.restarts, run.suspended_seconds) == (JobState.PENDING, 0, 4)
    assert superseded(run)
    assert word in run.flags
    assert (run.started_at, run.ended_at) == (after(1), after(100))
    assert (run.nodes, run.cpus, run.exit_code) == ("w1", 2, None)


def test_runs_come_in_the_order_in_which_they_ran() -> None:
    rows = [
        row("PENDING", "REQUEUED", submitted=at, start=at + 1, end=at + 50, restarts=n)
        for n, at in enumerate((0, 50, 100))
    ]
    last = row("COMPLETED", submitted=150, start=151, end=160, restarts=3)

    assert [run.restarts for run in earlier_runs([last, *reversed(rows)])] == [0, 1, 2]


def test_a_run_whose_successor_accounting_has_not_heard_of_is_over_too() -> None:
    [run] = earlier_runs([row("PENDING", "REQUEUED", submitted=0, start=1, end=100)])

    assert run.ended_at == after(100)


@pytest.mark.parametrize(
    "last",
    [
        row("COMPLETED", submitted=0, start=1, end=9),
        row("NODE_FAIL", submitted=0, start=1, end=9),
        row("PENDING", submitted=0),
        row("RUNNING", submitted=0, start=1),
    ],
)
def test_the_last_run_is_none_before_it(last: PastJob) -> None:
    assert earlier_runs([last]) == []
    assert earlier_runs([]) == []


def test_a_job_that_had_the_id_before_is_another_job() -> None:
    other = row("PENDING", "REQUEUED", submitted=-900, start=-800, end=-700)
    others_last = row("FAILED", submitted=-700, start=-600, end=-500, restarts=1)
    before = row("PENDING", "REQUEUED", submitted=0, start=1, end=100)

    [run] = earlier_runs([other, others_last, before, WAITING])
    assert run.ended_at == after(100)

    of_somebody = row("COMPLETED", submitted=-900, start=-800, end=-700, user="bo")
    assert earlier_runs([of_somebody, WAITING]) == []


BEFORE = row("PENDING", "RESIZING", submitted=0, start=1, end=30, nodes="w1,w2", suspended=3)
PRESENT = row("COMPLETED", submitted=30, start=30, end=90, suspended=2)


def test_the_rows_of_a_run_that_lost_a_node_are_one_run() -> None:
    runs = Runs()

    assert runs.take(BEFORE) is None
    found = runs.take(PRESENT)

    assert found is not None
    assert (found.submitted_at, found.born_at) == (NOON, NOON)
    assert (found.started_at, found.resized_at, found.ended_at) == (after(1), after(30), after(90))
    assert (found.nodes, found.cpus, found.suspended_seconds) == ("w1", 2, 5)


def test_a_part_of_a_run_is_never_put_before_another_run() -> None:
    runs = Runs()
    runs.take(BEFORE)

    other = runs.take(row("COMPLETED", submitted=31, start=32, end=90))

    assert other is not None
    assert (other.started_at, other.resized_at) == (after(32), None)


def test_a_run_that_was_resized_and_then_queued_again_is_one_run_before() -> None:
    requeued = row("PENDING", "REQUEUED", submitted=30, start=30, end=100)

    [run] = earlier_runs([BEFORE, requeued, WAITING])

    assert (run.started_at, run.resized_at, run.ended_at) == (after(1), after(30), after(100))

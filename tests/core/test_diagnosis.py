"""From evidence to a cause: who is believed, what is called a guess, and what would help."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterra.core.jobs.again import Adjustment
from clusterra.core.jobs.diagnosis import Cause, Diagnosis, Evidence, NodeEvent, diagnosis_of
from clusterra.core.jobs.job import JobState
from tests.builders import NOON, a_job

MORE_MEMORY = Adjustment(memory_factor=1.5)
OOM = "slurmstepd: error: Detected 1 oom_kill event in StepId=41.batch."
KILLED = "slurm_script: line 28: 20817 Killed                  samtools sort -@ 4"
TRACEBACK = ("Traceback (most recent call last):", '  File "a.py", line 1, in <module>')


def ended(state: JobState = JobState.FAILED, *lines: str, **known: Any) -> Diagnosis:
    """Diagnose a job that ran for two minutes with 8 GiB and an hour of time."""
    about = {"quotes", "memory_used_mib", "node_events", "taken_back", "cancelled_by"}
    about |= {"cancelled_why", "cost_micros", "cost_unknown", "unread"}
    facts: dict[str, Any] = {
        "started_at": NOON,
        "ended_at": NOON + timedelta(minutes=2, seconds=4),
        "memory_mib": 8192,
        "time_limit_minutes": 60,
        "nodes": "w1",
    }
    evidence = {name: known.pop(name) for name in about & known.keys()}
    job = a_job(41, state=state, **(facts | known))
    return diagnosis_of(Evidence(job=job, lines=lines, **evidence))


def node_event(type: str = "node.down", **known: Any) -> NodeEvent:
    facts: dict[str, Any] = {"node": "w1", "type": type, "at": NOON, "says": "is down"}
    return NodeEvent(**(facts | known))


@pytest.mark.parametrize(
    ("found", "cause", "summary"),
    [
        (
            ended(JobState.OUT_OF_MEMORY, signal=9, memory_used_mib=8090),
            Cause.OUT_OF_MEMORY,
            "Ran out of memory after 2m 04s: it asked for 8 GiB and reached 7.9 GiB.",
        ),
        (
            ended(JobState.OUT_OF_MEMORY, KILLED, signal=9),
            Cause.OUT_OF_MEMORY,
            (
                "Ran out of memory after 2m 04s: it asked for 8 GiB and needed more."
                " `samtools sort` was killed."
            ),
        ),
        (
            ended(JobState.TIMEOUT),
            Cause.TIMEOUT,
            "Reached its time limit of 1 h and was ended.",
        ),
        (
            ended(JobState.NODE_FAIL, node_events=(node_event(reason="Not responding"),)),
            Cause.NODE_FAILED,
            "It was lost with w1 after 2m 04s: Not responding.",
        ),
        (
            ended(JobState.NODE_FAIL, taken_back=("w1",), node_events=(node_event(),)),
            Cause.SPOT_INTERRUPTED,
            "The cloud took back w1 after 2m 04s, while it ran there.",
        ),
        (
            ended(JobState.PREEMPTED),
            Cause.PREEMPTED,
            "It made room for a more important job after 2m 04s.",
        ),
        (
            ended(JobState.CANCELLED, cancelled_by="user:ana@lab.org"),
            Cause.CANCELLED,
            "It was cancelled by ana@lab.org after 2m 04s.",
        ),
        (
            ended(JobState.CANCELLED, started_at=None),
            Cause.CANCELLED,
            "It was cancelled before it started.",
        ),
        (
            ended(
                JobState.CANCELLED, cancelled_by="system:quota", cancelled_why="ana is over $40.00."
            ),
            Cause.QUOTA,
            "It was cancelled after 2m 04s by a quota: ana is over $40.00.",
        ),
        (
            ended(JobState.CANCELLED, reason="DependencyNeverSatisfied", started_at=None),
            Cause.DEPENDENCY,
            "It never started: the job it depends on did not end as it needs.",
        ),
        (ended(JobState.LOST), Cause.LOST, None),
        (ended(JobState.DEADLINE), Cause.DEADLINE, None),
        (ended(JobState.BOOT_FAIL), Cause.LAUNCH_FAILED, None),
        (ended(reason="JobLaunchFailure", started_at=None), Cause.LAUNCH_FAILED, None),
        (
            ended(JobState.FAILED, OOM, signal=9),
            Cause.OUT_OF_MEMORY,
            "Ran out of memory after 2m 04s: it asked for 8 GiB and needed more.",
        ),
        (
            ended(JobState.FAILED, "slurm_script: line 2: bwa: command not found", exit_code=127),
            Cause.COMMAND_NOT_FOUND,
            "A command was not found: bwa.",
        ),
        (
            ended(JobState.FAILED, "line 2: ./f.txt: Permission denied", exit_code=126),
            Cause.NOT_EXECUTABLE,
            "A file could not be executed: ./f.txt.",
        ),
        (
            ended(JobState.FAILED, "error: execve(): bad interpreter(/no): No such", exit_code=2),
            Cause.BAD_INTERPRETER,
            "The interpreter /no in the first line of a script is not there.",
        ),
        (
            ended(JobState.FAILED, *TRACEBACK, "ValueError: bad", exit_code=1),
            Cause.PYTHON_EXCEPTION,
            "A Python program ended with an exception after 2m 04s: ValueError.",
        ),
        (
            ended(JobState.FAILED, signal=11),
            Cause.SIGNAL,
            "A program in it crashed (segmentation fault) after 2m 04s.",
        ),
        (
            ended(JobState.FAILED, exit_code=143),
            Cause.SIGNAL,
            "It was ended by signal 15 (SIGTERM) after 2m 04s; who sent it is not known.",
        ),
        (
            ended(JobState.FAILED, "oh no", exit_code=7),
            Cause.EXIT_CODE,
            "Its script ended with exit code 7 after 2m 04s.",
        ),
        (
            ended(JobState.FAILED),
            Cause.UNKNOWN,
            "It failed after 2m 04s, and Slurm does not say why.",
        ),
    ],
)
def test_what_is_known_is_said_outright(
    found: Diagnosis, cause: Cause, summary: str | None
) -> None:
    assert (found.cause, found.sure) == (cause, True)
    assert summary is None or found.summary == summary


@pytest.mark.parametrize(
    ("found", "cause", "begins"),
    [
        (
            ended(JobState.FAILED, KILLED, exit_code=137),
            Cause.OUT_OF_MEMORY,
            "Probably ran out of memory",
        ),
        (
            ended(JobState.FAILED, signal=9, memory_used_mib=7400),
            Cause.OUT_OF_MEMORY,
            "Probably ran out of memory",
        ),
        (ended(JobState.FAILED, "MemoryError", exit_code=1), Cause.OUT_OF_MEMORY, "Probably ran"),
        (
            ended(JobState.FAILED, "std::bad_alloc", signal=6),
            Cause.OUT_OF_MEMORY,
            "Probably ran out of memory",
        ),
        (
            ended(JobState.FAILED, "CUDA out of memory", exit_code=1),
            Cause.GPU_OUT_OF_MEMORY,
            "Probably ran out of memory on the GPU",
        ),
        (
            ended(JobState.FAILED, "No space left on device", exit_code=1),
            Cause.NO_SPACE,
            "Probably it had no room left",
        ),
        (
            ended(JobState.FAILED, "cat: /x: Permission denied", exit_code=1),
            Cause.PERMISSION,
            "Probably it was not allowed to use a file after 2m 04s: /x",
        ),
        (
            ended(JobState.FAILED, signal=15, taken_back=("w1",)),
            Cause.SPOT_INTERRUPTED,
            "Probably the cloud took back w1",
        ),
    ],
)
def test_what_is_a_guess_is_called_one(found: Diagnosis, cause: Cause, begins: str) -> None:
    assert (found.cause, found.sure) == (cause, False)
    assert found.summary.startswith(begins)


def test_a_kill_with_memory_to_spare_is_not_put_down_to_memory() -> None:
    asked = 8192
    plenty = ended(JobState.FAILED, KILLED, signal=9, memory_used_mib=int(asked * 0.9) - 1)
    nearly_all = ended(JobState.FAILED, KILLED, signal=9, memory_used_mib=int(asked * 0.9) + 1)

    assert plenty.cause is Cause.SIGNAL
    assert nearly_all.cause is Cause.OUT_OF_MEMORY


def test_a_command_that_was_not_found_and_did_not_matter_is_not_the_cause() -> None:
    found = ended(JobState.FAILED, "line 2: python3: command not found", "start", exit_code=3)

    assert found.cause is Cause.EXIT_CODE


def test_a_spot_notice_does_not_explain_an_exit_code() -> None:
    assert ended(JobState.FAILED, exit_code=3, taken_back=("w1",)).cause is Cause.EXIT_CODE


@pytest.mark.parametrize(
    ("state", "says"),
    [
        (JobState.PENDING, "It is still waiting to start."),
        (JobState.RUNNING, "It is still running."),
        (JobState.SUSPENDED, "It is still suspended."),
        (JobState.COMPLETED, "It completed; there is nothing to mend."),
    ],
)
def test_a_job_that_has_not_failed_is_no_trouble(state: JobState, says: str) -> None:
    found = ended(state, "line: Permission denied", cost_micros=5, exit_code=0)

    assert (found.cause, found.summary, found.failed) == (Cause.NONE, says, False)
    assert found.lost_micros is None
    assert found.fix is None


@pytest.mark.parametrize(
    ("found", "fix"),
    [
        (ended(JobState.OUT_OF_MEMORY), MORE_MEMORY),
        (ended(JobState.FAILED, OOM, signal=9), MORE_MEMORY),
        (ended(JobState.TIMEOUT), Adjustment(time_factor=2)),
        (ended(JobState.NODE_FAIL), Adjustment()),
        (ended(JobState.FAILED, "CUDA out of memory", exit_code=1), None),
        (ended(JobState.FAILED, exit_code=7), None),
        (ended(JobState.CANCELLED), None),
    ],
)
def test_a_fix_is_proposed_where_running_it_again_may_help(
    found: Diagnosis, fix: Adjustment | None
) -> None:
    assert found.fix == fix


def test_more_memory_is_more_than_it_was_seen_to_use() -> None:
    past_its_limit = ended(JobState.OUT_OF_MEMORY, memory_mib=100, memory_used_mib=253)
    within = ended(JobState.OUT_OF_MEMORY, memory_mib=100, memory_used_mib=99)

    assert past_its_limit.advice == "Submit it again with more memory, such as 380 MiB."
    assert within.advice == "Submit it again with more memory, such as 150 MiB."
    assert within.fix == MORE_MEMORY


def test_a_guess_does_not_claim_what_was_not_seen() -> None:
    found = ended(JobState.FAILED, "Killed", exit_code=137)

    assert found.summary == "Probably ran out of memory after 2m 04s; it asked for 8 GiB."


def test_what_it_wrote_is_repeated_only_where_that_is_allowed() -> None:
    line = "slurm_script: line 2: secret-tool: command not found"
    told = ended(JobState.FAILED, line, exit_code=127)
    hidden = ended(JobState.FAILED, line, exit_code=127, quotes=False)

    assert told.last_lines == (line,)
    assert hidden.cause is told.cause is Cause.COMMAND_NOT_FOUND
    assert "secret" not in repr(hidden)


@given(st.lists(st.text(max_size=200), max_size=12), st.sampled_from(JobState), st.booleans())
def test_nothing_that_a_job_writes_is_repeated_or_too_much(
    lines: list[str], state: JobState, ran: bool
) -> None:
    marked = [f"zzyx {line} zzyx" for line in lines]

    found = ended(state, *marked, quotes=False, started_at=NOON if ran else None, exit_code=1)

    assert found.summary
    assert "zzyx" not in repr(found)


def test_the_rows_behind_it_are_in_the_jobs_own_numbers() -> None:
    found = ended(
        JobState.FAILED,
        OOM,
        signal=9,
        memory_used_mib=8090,
        restarts=1,
        cost_micros=370_000,
        node_events=(node_event(),),
    )

    assert {row.label: row.value for row in found.details} == {
        "ended": "by signal 9 (SIGKILL)",
        "memory": "7.9 GiB of 8 GiB",
        "time": "2m 04s of 1 h",
        "node": "w1 is down",
        "restarts": "put back into the queue 1 time",
        "cost": "$0.37",
        "says": OOM,
    }
    assert found.lost_micros == 370_000


def test_what_is_not_known_is_said_to_be_unknown() -> None:
    found = ended(JobState.OUT_OF_MEMORY, cost_unknown="no price", unread="It lies elsewhere.")
    rows = {row.label: row.value for row in found.details}

    assert rows["memory"] == "8 GiB asked, what it used is not known"
    assert rows["cost"] == "not known: no price"
    assert rows["output"] == "It lies elsewhere."
    assert found.lost_micros is None


def test_memory_that_was_seen_long_before_it_ran_out_is_not_called_its_peak() -> None:
    found = ended(JobState.OUT_OF_MEMORY, memory_used_mib=100)

    assert "needed more" in found.summary
    assert "reached" not in found.summary

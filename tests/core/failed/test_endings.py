"""Exit codes and signals in words."""

import pytest

from clusterra.core.jobs.failed.endings import ended_with, signal_of
from clusterra.core.jobs.job import JobState
from tests.builders import a_job


@pytest.mark.parametrize(
    ("exit_code", "signal", "words"),
    [
        (0, None, "exit code 0"),
        (7, None, "exit code 7"),
        (7, 0, "exit code 7"),
        (126, None, "exit code 126: not executable"),
        (127, None, "exit code 127: command not found"),
        (128, None, "exit code 128"),
        (137, None, "exit code 137: a program in it was ended by signal 9 (SIGKILL)"),
        (192, None, "exit code 192: a program in it was ended by signal 64"),
        (193, None, "exit code 193"),
        (255, None, "exit code 255"),
        (None, 9, "ended by signal 9 (SIGKILL)"),
        (0, 11, "ended by signal 11 (SIGSEGV)"),
        (None, 42, "ended by signal 42"),
        (None, None, ""),
    ],
)
def test_what_a_job_ended_with_is_said(
    exit_code: int | None, signal: int | None, words: str
) -> None:
    job = a_job(state=JobState.FAILED, exit_code=exit_code, signal=signal)

    assert ended_with(job) == words


def test_a_signal_behind_an_exit_code_is_seen() -> None:
    assert signal_of(a_job(exit_code=139)) == 11
    assert signal_of(a_job(exit_code=127)) is None
    assert signal_of(a_job(signal=15)) == 15


def test_of_a_job_that_was_lost_with_its_node_nobody_saw_the_end() -> None:
    assert ended_with(a_job(state=JobState.NODE_FAIL, signal=1)) == ""

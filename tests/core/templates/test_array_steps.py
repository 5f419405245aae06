"""A step that is a job array stands as all of its tasks do."""

from datetime import timedelta
from typing import Any

import pytest

from clusterra.core.jobs.job import Job, JobState
from clusterra.core.templates.workflow import array_as_one
from tests.builders import NOON

DONE, FAILED, RUNNING = JobState.COMPLETED, JobState.FAILED, JobState.RUNNING
WAITING, CANCELLED = JobState.PENDING, JobState.CANCELLED


def task(number: int, state: JobState, **more: Any) -> Job:
    started = None if state in (WAITING, CANCELLED) else NOON + timedelta(minutes=number)
    return Job(
        id=100 + number,
        array_id=100,
        array_task=number,
        born_at=NOON,
        submitted_at=NOON,
        state=state,
        started_at=started,
        **more,
    )


@pytest.mark.parametrize(
    ("tasks", "whole"),
    [
        ([WAITING, WAITING], WAITING),
        ([DONE, WAITING], RUNNING),
        ([FAILED, RUNNING], RUNNING),
        ([DONE, DONE], DONE),
        ([DONE, FAILED, DONE], FAILED),
        ([CANCELLED, FAILED], FAILED),
        ([CANCELLED, DONE], CANCELLED),
    ],
)
def test_it_runs_until_the_last_has_ended_and_failed_if_one_has(
    tasks: list[JobState], whole: JobState
) -> None:
    one = array_as_one([task(number, state) for number, state in enumerate(tasks, start=1)])

    assert one.state is whole
    assert one.id == 100


def test_it_began_with_its_first_task_and_has_the_exit_code_of_the_one_that_failed() -> None:
    one = array_as_one([task(2, FAILED, exit_code=7), task(1, DONE, exit_code=0)])

    assert one.started_at == NOON + timedelta(minutes=1)
    assert one.exit_code == 7

"""What two looks at a job tell."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterra.core.events.derive import derive, ripe, ripens_at
from clusterra.core.events.event import Draft
from clusterra.core.jobs.job import Job, JobState
from tests.builders import NOON, a_job

LAB = "cluslab1"
SECOND = timedelta(seconds=1)
LATER = NOON + timedelta(hours=1)


def told(old: Job | None, new: Job, **more: Any) -> list[Draft]:
    return derive(old, new, cluster=LAB, now=more.pop("now", NOON + SECOND), **more)


def types(drafts: list[Draft]) -> list[str]:
    return [draft.fact.type for draft in drafts]


def running(**facts: Any) -> Job:
    return a_job(state=JobState.RUNNING, started_at=NOON + SECOND, nodes="w1", **facts)


def ended(state: JobState = JobState.COMPLETED, **facts: Any) -> Job:
    return replace(running(), state=state, ended_at=NOON + 3 * SECOND, **facts)


def test_a_job_seen_at_every_step_tells_each_once() -> None:
    waiting = a_job()

    assert types(told(None, waiting)) == ["job.submitted"]
    assert types(told(waiting, running())) == ["job.started"]
    assert types(told(running(), ended(exit_code=0))) == ["job.completed"]
    assert told(ended(), ended()) == []


def test_a_job_first_seen_when_over_tells_all_of_it_with_the_true_times() -> None:
    drafts = told(None, ended(), now=LATER)

    assert [(draft.fact.type, draft.at - NOON) for draft in drafts] == [
        ("job.submitted", 0 * SECOND),
        ("job.started", 1 * SECOND),
        ("job.completed", 3 * SECOND),
    ]


def test_whoever_looks_however_often_comes_to_the_same_ids() -> None:
    step_by_step = [
        *told(None, a_job()),
        *told(a_job(), running()),
        *told(running(), ended()),
    ]

    afterwards = told(None, ended(), now=LATER)

    assert {draft.id for draft in step_by_step} == {draft.id for draft in afterwards}


def test_another_job_that_slurm_gave_the_same_id_has_other_events() -> None:
    again = a_job(submitted_at=NOON + timedelta(days=400))

    assert told(None, a_job())[0].id != told(None, again)[0].id


@pytest.mark.parametrize(
    ("state", "type"),
    [
        (JobState.FAILED, "job.failed"),
        (JobState.CANCELLED, "job.cancelled"),
        (JobState.TIMEOUT, "job.timeout"),
        (JobState.OUT_OF_MEMORY, "job.out_of_memory"),
        (JobState.NODE_FAIL, "job.node_fail"),
        (JobState.PREEMPTED, "job.preempted"),
        (JobState.BOOT_FAIL, "job.failed"),
        (JobState.DEADLINE, "job.timeout"),
        (JobState.LOST, "job.lost"),
    ],
)
def test_each_end_has_its_event(state: JobState, type: str) -> None:
    assert types(told(running(), ended(state))) == [type]


def test_a_late_word_never_moves_a_job_backwards() -> None:
    assert told(ended(), running()) == []
    assert told(running(), a_job()) == []


def test_a_job_that_was_called_lost_may_turn_up_again() -> None:
    assert types(told(ended(JobState.LOST), ended())) == ["job.completed"]
    assert told(ended(JobState.LOST), a_job()) == []


def test_a_job_cancelled_in_the_queue_never_started() -> None:
    cancelled = a_job(
        state=JobState.CANCELLED, started_at=NOON + SECOND, ended_at=NOON + SECOND, nodes=""
    )

    assert types(told(a_job(), cancelled)) == ["job.cancelled"]


def test_a_requeued_job_starts_and_ends_again() -> None:
    again = running(restarts=1, born_at=NOON, submitted_at=NOON + SECOND)

    drafts = told(running(), again)

    assert types(drafts) == ["job.requeued", "job.started"]
    first = told(a_job(), running())
    assert drafts[1].id != first[0].id


def test_a_requeue_seen_before_slurm_has_counted_it_is_told_when_it_is_counted() -> None:
    moved = a_job(born_at=NOON, submitted_at=NOON + 2 * SECOND)
    counted = replace(moved, restarts=1)

    assert told(running(), moved) == []
    assert types(told(moved, counted)) == ["job.requeued"]


def test_every_restart_that_nobody_saw_is_told() -> None:
    drafts = told(running(), replace(ended(), restarts=3))

    assert types(drafts).count("job.requeued") == 3


def test_a_wait_of_a_moment_is_no_event_and_a_longer_one_is() -> None:
    waiting = a_job(reason="Resources")

    assert told(None, waiting, now=NOON + 4 * SECOND)[1:] == []
    assert ripens_at(waiting) == NOON + 5 * SECOND
    [draft] = ripe(waiting, cluster=LAB, now=NOON + 5 * SECOND)
    assert draft.fact.type == "job.pending"
    assert draft.fact.reason == "Resources"  # type: ignore[attr-defined]


def test_a_long_wait_that_nobody_saw_is_told_when_it_is_over() -> None:
    [seen] = ripe(a_job(reason="Priority"), cluster=LAB, now=NOON + 9 * SECOND)
    late = replace(ended(), started_at=NOON + 20 * SECOND, ended_at=NOON + 21 * SECOND)

    unseen = told(None, late, now=LATER)

    assert types(unseen) == ["job.submitted", "job.pending", "job.started", "job.completed"]
    assert unseen[1].id == seen.id


def test_reasons_that_only_mean_not_its_turn_are_one_event() -> None:
    now = NOON + 9 * SECOND
    ids = {
        ripe(a_job(reason=reason), cluster=LAB, now=now)[0].id
        for reason in ("Priority", "Resources", "None", "")
    }
    other = ripe(a_job(reason="Dependency"), cluster=LAB, now=now)[0].id

    assert len(ids) == 1
    assert other not in ids


def test_holding_and_releasing_are_told_with_the_person_who_did_it() -> None:
    held = a_job(reason="JobHeldUser")

    [hold] = told(a_job(), held, by={"held": "user:ana"})
    [release] = told(held, a_job(), by={"released": "user:ben"})

    assert (hold.fact.type, hold.actor) == ("job.held", "user:ana")
    assert (release.fact.type, release.actor) == ("job.released", "user:ben")


def test_a_cancellation_names_who_cancelled_and_the_submission_who_submitted() -> None:
    drafts = told(None, ended(JobState.CANCELLED), by={"cancelled": "user:ben"})

    assert [draft.actor for draft in drafts] == ["user:ana", "system:slurm", "user:ben"]


def test_nodes_that_are_long_in_coming_are_told_of() -> None:
    booting = running(flags=("CONFIGURING",))

    assert told(a_job(), booting) == []
    assert types(ripe(booting, cluster=LAB, now=NOON + 7 * SECOND)) == ["job.allocated"]
    assert types(told(booting, running())) == ["job.started"]


def test_a_limit_that_comes_near_is_told_once_whoever_notices() -> None:
    job = running(time_limit_minutes=60)

    assert ripe(job, cluster=LAB, now=NOON + timedelta(minutes=50)) == []
    [seen] = ripe(job, cluster=LAB, now=NOON + timedelta(minutes=55))
    over = replace(job, state=JobState.TIMEOUT, ended_at=NOON + timedelta(minutes=60, seconds=9))
    unseen = told(job, over)

    assert types(unseen) == ["job.time_limit_near", "job.timeout"]
    assert unseen[0].id == seen.id


def test_suspending_and_resuming_are_told() -> None:
    asleep = replace(running(), state=JobState.SUSPENDED)

    assert types(told(running(), asleep)) == ["job.suspended"]
    assert types(told(asleep, running())) == ["job.resumed"]


def test_an_arrays_tasks_belong_together() -> None:
    [one] = told(None, a_job(44, array_id=43, array_task=1))
    [two] = told(None, a_job(45, array_id=43, array_task=2))

    assert one.correlation == two.correlation
    assert one.subject != two.subject


PATH = (
    a_job(),
    running(),
    ended(),
)


@given(st.lists(st.sampled_from(range(3)), max_size=8))
def test_looks_in_any_order_tell_each_thing_once_and_in_order(looks: list[int]) -> None:
    old: Job | None = None
    ledger: dict[str, Draft] = {}
    for look in looks:
        new = PATH[look]
        for draft in told(old, new, now=LATER):
            ledger.setdefault(draft.id, draft)
        old = new if old is None or PATH.index(old) <= look else old

    expected = ["job.submitted", "job.pending", "job.started", "job.completed"]
    seen = types(list(ledger.values()))
    assert [type for type in expected if type in seen] == seen

"""What keeps automations from going round in circles, by itself."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from clusterra.core.access import Caller, Role
from clusterra.core.automation.action import Act, Action, Retry, adjustment_of
from clusterra.core.automation.answer import answers
from clusterra.core.automation.cause import Cause
from clusterra.core.automation.firing import firing_id, made_run_id
from clusterra.core.automation.guard import (
    DEEPEST,
    HOUR,
    Hourly,
    Lineage,
    is_own_doing,
    pause,
    why_stopped,
    why_too_many,
)
from clusterra.core.automation.rule import Rule
from clusterra.core.events.interest import Interest
from clusterra.core.ids import uuid7
from clusterra.core.jobs.again import AS_IS
from clusterra.core.jobs.job import JobState
from tests.builders import NOON

RULE = Rule(
    id="aut_1",
    workspace="lab",
    owner="usr_1",
    name="r",
    when=Interest(types=("job.*",)),
    actions=(Action(act=Act.RETRY), Action(act=Act.REQUEUE), Action(act=Act.NOTIFY)),
    created_at=NOON,
)
ANA = Caller(user="ana")


def a_cause(type: str = "job.out_of_memory", **known: Any) -> Cause:
    facts: dict[str, Any] = {
        "id": "e1",
        "ledger": "cluslab1",
        "seq": 1,
        "at": NOON,
        "subject": "job/4",
    }
    return Cause(
        type=type, **(facts | {"job_id": 4, "user": "ana", "state": "OUT_OF_MEMORY"} | known)
    )


@pytest.mark.parametrize(
    ("state", "plain", "memory", "time"),
    [
        (JobState.OUT_OF_MEMORY, False, 1.5, 1.0),
        (JobState.TIMEOUT, False, 1.0, 2.0),
        (JobState.NODE_FAIL, False, 1.0, 1.0),
        (JobState.PREEMPTED, False, 1.0, 1.0),
        (JobState.BOOT_FAIL, False, 1.0, 1.0),
        (JobState.FAILED, True, 1.0, 1.0),
    ],
)
def test_each_end_has_its_remedy(state: JobState, plain: bool, memory: float, time: float) -> None:
    found = adjustment_of(Retry(plain=plain), state)

    assert found is not None
    assert (found.memory_factor, found.time_factor) == (memory, time)


@pytest.mark.parametrize(
    "state", [JobState.FAILED, JobState.COMPLETED, JobState.CANCELLED, JobState.RUNNING]
)
def test_some_ends_have_none(state: JobState) -> None:
    assert adjustment_of(Retry(), state) is None
    assert adjustment_of(Retry(plain=True), JobState.CANCELLED) is None
    assert adjustment_of(Retry(plain=True), JobState.FAILED) == AS_IS


def test_a_member_acts_on_their_own_jobs_and_looks_at_others() -> None:
    def acts(owner: Caller | None, cause: Cause) -> list[Act]:
        return [action.act for _, action in answers(RULE, cause, owner)]

    assert acts(ANA, a_cause()) == [Act.RETRY, Act.REQUEUE, Act.NOTIFY]
    assert acts(ANA, a_cause(user="ben")) == [Act.NOTIFY]
    assert acts(Caller(user="eva", role=Role.ADMIN), a_cause(user="ben")) == [
        Act.RETRY, Act.REQUEUE, Act.NOTIFY,
    ]  # fmt: skip
    assert acts(ANA, a_cause("job.started", state="RUNNING")) == [Act.REQUEUE, Act.NOTIFY]
    assert acts(ANA, a_cause("node.down", job_id=None, state="")) == [Act.NOTIFY]
    assert acts(None, a_cause())


def test_it_acts_as_often_as_it_may_along_one_chain_and_no_more() -> None:
    lineage = Lineage(root="job/4", at=NOON)
    rule = replace(RULE, most=2)
    assert not why_stopped(rule, Act.RETRY, lineage)
    once = lineage.of_a_child(rule.id, NOON)
    assert not why_stopped(rule, Act.RETRY, once)
    twice = once.of_a_child(rule.id, NOON)
    assert why_stopped(rule, Act.RETRY, twice).startswith("it has acted 2 times")
    assert not why_stopped(rule, Act.NOTIFY, twice)
    other = replace(rule, id="aut_2")
    assert not why_stopped(other, Act.RETRY, twice)
    assert (twice.root, twice.depth) == ("job/4", 2)


def test_a_chain_has_an_end_whoever_makes_it() -> None:
    almost = Lineage(root="job/4", at=NOON, depth=DEEPEST - 1)
    assert not why_stopped(RULE, Act.SUBMIT, almost)
    assert why_stopped(RULE, Act.SUBMIT, replace(almost, depth=DEEPEST))


def test_it_passes_over_what_it_did_itself_and_answers_to_answers() -> None:
    def own(**known: Any) -> bool:
        return is_own_doing(RULE, a_cause("automation.fired", **known))

    assert own(by="aut_1", answers="job.failed")
    assert not own(by="aut_2", answers="job.failed")
    assert own(by="aut_2", answers="automation.fired")
    assert own(by="", answers="automation.stopped")
    assert not own(by="", answers="job.failed")
    assert not is_own_doing(RULE, a_cause())


def test_an_hour_has_room_for_so_many_and_the_next_for_as_many_again() -> None:
    rule = replace(RULE, most_per_hour=2)
    assert not why_too_many(rule, Hourly(since=NOON, count=1))
    full = Hourly(since=NOON, count=2)
    assert "it answers nothing before 13:00 UTC" in why_too_many(rule, full)
    assert full.at(NOON + HOUR - timedelta(seconds=1)) == full
    assert full.at(NOON + HOUR) == Hourly(since=NOON + HOUR)


def test_it_waits_twice_as_long_each_time_and_never_longer_than_a_day() -> None:
    rule = replace(RULE, backoff_seconds=300)
    waits = [
        pause(rule, Lineage(root="", at=NOON, acted={"aut_1": times})) for times in (0, 1, 2, 99)
    ]
    assert waits == [
        timedelta(minutes=5), timedelta(minutes=10), timedelta(minutes=20), timedelta(days=1),
    ]  # fmt: skip


def test_the_same_event_makes_the_same_firing_and_the_same_run() -> None:
    one = firing_id("aut_1", "e1", 0)
    assert one == firing_id("aut_1", "e1", 0)
    assert len({one, firing_id("aut_2", "e1", 0), firing_id("aut_1", "e2", 0), firing_id("aut_1", "e1", 1)}) == 4  # fmt: skip
    run = made_run_id(one, NOON)
    assert run == made_run_id(one, NOON)
    # As every other run id does, it begins with its time.
    assert run[:13] == uuid7(NOON, b"\0" * 10)[:13]

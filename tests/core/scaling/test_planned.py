"""What a waiting job is said to wait for, as far as workers are concerned."""

from clusterra.core.jobs.job import JobState
from clusterra.core.scaling.demand import Demand
from clusterra.core.scaling.fleet import Fleet
from clusterra.core.scaling.plan import Cause, Plan, Wait
from clusterra.core.scaling.planned import Planned
from clusterra.core.scaling.policy import Policy
from tests.builders import a_job

STARTING = Wait(cause=Cause.WARMING, sentence="1 job needs 16 CPUs; 1 general-medium is starting")
PLANNED = Planned(
    demand=Demand(),
    workers=(),
    fleet=Fleet(),
    plan=Plan(desired={}, waits={1: STARTING}),
    policy=Policy(),
    shapes={},
)


def test_a_job_that_waits_for_a_worker_is_told_which() -> None:
    assert PLANNED.waits_for(a_job(1)) == "1 general-medium is starting"


def test_one_that_has_just_come_is_told_that_one_is_being_chosen() -> None:
    assert "being chosen" in PLANNED.waits_for(a_job(2, reason="ReqNodeNotAvail"))


def test_one_that_waits_for_something_else_or_not_at_all_is_told_nothing() -> None:
    assert PLANNED.waits_for(a_job(3, reason="Dependency")) == ""
    assert PLANNED.waits_for(a_job(1, state=JobState.RUNNING)) == ""

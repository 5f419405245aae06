"""What every plan keeps to, whatever the queue, the fleet and the policy."""

import random
from collections import Counter
from collections.abc import Mapping

from hypothesis import given, settings
from hypothesis import strategies as st

from clusterra.core.jobs.job import Job
from clusterra.core.scaling.demand import demand
from clusterra.core.scaling.fleet import Phase, Shortage, Worker
from clusterra.core.scaling.plan import Cause, plan
from clusterra.core.scaling.policy import Policy
from tests.builders import NOON
from tests.core.scaling.worlds import (
    SHAPES,
    fed_back,
    fleets,
    jobs,
    policies,
    shortages,
    usd_per_hour,
)

any_world = given(queue=jobs(), fleet=fleets(), policy=policies, short=shortages)
patient = settings(deadline=None, max_examples=40)


@patient
@any_world
def test_no_plan_adds_beyond_the_limits(
    queue: list[Job], fleet: list[Worker], policy: Policy, short: Mapping[str, Shortage]
) -> None:
    decided = plan(demand(queue), fleet, policy, SHAPES, short, NOON)

    there = Counter(worker.shape for worker in fleet)
    if sum(decided.desired.values()) > len(fleet) or any(
        number > there[shape] for shape, number in decided.desired.items()
    ):
        assert sum(decided.desired.values()) <= max(policy.max_workers, len(fleet))
        if policy.max_usd_per_hour is not None:
            spent = usd_per_hour(decided.desired, policy.purchase)
            assert spent <= max(policy.max_usd_per_hour, usd_per_hour(there, policy.purchase))


@patient
@any_world
def test_no_plan_takes_a_worker_that_is_busy_or_not_ours(
    queue: list[Job], fleet: list[Worker], policy: Policy, short: Mapping[str, Shortage]
) -> None:
    decided = plan(demand(queue), fleet, policy, SHAPES, short, NOON)

    by_name = {worker.name: worker for worker in fleet}
    for name in decided.leave:
        assert by_name[name].phase is Phase.READY
        assert not by_name[name].busy
    stay = Counter(each.shape for each in fleet if each.busy or each.phase is not Phase.LEAVING)
    assert all(decided.desired.get(shape, 0) >= number for shape, number in stay.items())


@patient
@any_world
def test_planning_again_without_news_changes_nothing(
    queue: list[Job], fleet: list[Worker], policy: Policy, short: Mapping[str, Shortage]
) -> None:
    waiting = demand(queue)
    first = plan(waiting, fleet, policy, SHAPES, short, NOON)
    again = plan(waiting, fed_back(fleet, first), policy, SHAPES, short, NOON)

    assert again.desired == first.desired
    assert again.leave == first.leave
    assert again.waits == first.waits
    assert not again.changes


@patient
@given(
    queue=jobs(),
    fleet=fleets(),
    policy=policies,
    short=shortages,
    chance=st.randoms(use_true_random=False),
)
def test_the_order_of_what_comes_in_does_not_matter(
    queue: list[Job],
    fleet: list[Worker],
    policy: Policy,
    short: Mapping[str, Shortage],
    chance: random.Random,
) -> None:
    first = plan(demand(queue), fleet, policy, SHAPES, short, NOON)
    chance.shuffle(queue)
    chance.shuffle(fleet)
    turned = dict(reversed(list(SHAPES.items())))

    assert plan(demand(queue), fleet, policy, turned, short, NOON) == first


@patient
@any_world
def test_every_waiting_job_has_a_reason_and_every_change_too(
    queue: list[Job], fleet: list[Worker], policy: Policy, short: Mapping[str, Shortage]
) -> None:
    waiting = demand(queue)
    decided = plan(waiting, fleet, policy, SHAPES, short, NOON)

    assert decided.waits.keys() | waiting.set_aside.keys() == {job.id for job in queue}
    assert all(wait.sentence for wait in decided.waits.values())
    assert all(change.reason for change in decided.changes)
    assert all(wait.shape for wait in decided.waits.values() if wait.cause is Cause.WARMING)
    there = Counter(worker.shape for worker in fleet)
    assert {change.shape: change.after for change in decided.changes} == {
        shape: decided.desired.get(shape, 0)
        for shape in there.keys() | decided.desired.keys()
        if decided.desired.get(shape, 0) != there[shape]
    }


@patient
@given(queue=jobs(), policy=policies)
def test_without_limits_whatever_some_shape_can_hold_gets_a_worker(
    queue: list[Job], policy: Policy
) -> None:
    free = Policy(rule=policy.rule, architectures=policy.architectures, max_workers=10**6)
    decided = plan(demand(queue), (), free, SHAPES, {}, NOON)

    for wait in decided.waits.values():
        # No shape would be started for it, but one that comes for others is large enough.
        borrows = wait.cause is Cause.ROOM and "have no room at present" in wait.sentence
        assert wait.cause in (Cause.WARMING, Cause.NEVER) or borrows

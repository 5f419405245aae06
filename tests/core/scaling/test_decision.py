"""What is committed of a plan, and what is remembered of workers that did not come."""

from datetime import timedelta

from clusterra.core.scaling.decision import (
    FIRST_PAUSE,
    LONGEST_PAUSE,
    PATIENCE,
    after_failures,
    next_fleet,
    resized,
)
from clusterra.core.scaling.demand import Demand
from clusterra.core.scaling.edge import Failed
from clusterra.core.scaling.fleet import Fleet, Phase, Shortage, Worker
from clusterra.core.scaling.plan import Plan, Resize
from clusterra.core.scaling.policy import Policy
from clusterra.core.scaling.shapes import table
from tests.builders import NOON

SHAPES = table()


def ready(name: str, **facts: object) -> Worker:
    shape = name.rpartition("-")[0]
    return Worker(name=name, shape=shape, phase=Phase.READY, since=NOON, **facts)  # type: ignore[arg-type]


def test_the_version_grows_when_something_else_is_wanted_and_only_then() -> None:
    committed = Fleet(version=7, desired={"general-small": 1}, decided_at=NOON)
    workers = [ready("general-small-1")]
    names = ["general-small-1"]

    same = next_fleet(
        committed, committed, Plan(desired={"general-small": 1}), workers, names, NOON
    )
    more = next_fleet(
        committed, committed, Plan(desired={"general-small": 2}), workers, names, NOON
    )

    assert same == committed
    assert more.version == 8
    assert more.asked == {"general-small": (NOON,)}


def test_when_a_worker_was_asked_for_is_kept_until_it_is_seen() -> None:
    asked = NOON - timedelta(minutes=1)
    committed = Fleet(
        version=1, desired={"general-small": 2}, asked={"general-small": (asked,)}, decided_at=asked
    )
    awaited = Worker(shape="general-small", phase=Phase.WARMING, since=asked)
    plan = Plan(desired={"general-small": 2})

    waiting = next_fleet(committed, committed, plan, [awaited, ready("general-small-1")], [], NOON)
    came = next_fleet(
        committed,
        committed,
        plan,
        [ready("general-small-1"), ready("general-small-2")],
        [],
        NOON,
    )

    assert waiting.asked == {"general-small": (asked,)}
    assert came.asked == {}


def test_a_drained_idle_worker_is_named_to_the_edge_until_it_is_gone_from_there() -> None:
    leaving = Worker(name="general-small-1", shape="general-small", phase=Phase.LEAVING, since=NOON)
    committed = Fleet(version=1, desired={"general-small": 1}, decided_at=NOON)

    told = next_fleet(committed, committed, Plan(desired={}), [leaving], ["general-small-1"], NOON)
    still = next_fleet(told, told, Plan(desired={}), [], ["general-small-1"], NOON)
    gone = next_fleet(told, told, Plan(desired={}), [], [], NOON)

    assert told.retire == ("general-small-1",)
    assert still.retire == ("general-small-1",)
    assert gone.retire == ()


def test_a_shape_that_did_not_come_is_left_alone_for_longer_each_time() -> None:
    fleet = Fleet(version=1, desired={"general-small": 3})
    failed = [Failed(shape="general-small", why="slurmd: no route to host", at=NOON)]
    pauses = []
    for _ in range(8):
        fleet, (told,) = after_failures(fleet, failed, NOON)
        pauses.append(fleet.shortages["general-small"].until - NOON)
        assert told.why == "slurmd: no route to host"

    assert pauses[:3] == [FIRST_PAUSE, 2 * FIRST_PAUSE, 4 * FIRST_PAUSE]
    assert pauses[-1] == LONGEST_PAUSE
    assert fleet.desired == {}


def test_one_that_is_not_seen_for_ten_minutes_counts_as_not_come() -> None:
    asked = (NOON - PATIENCE, NOON - timedelta(minutes=1))
    fleet = Fleet(desired={"general-small": 2}, asked={"general-small": asked})

    noted, (told,) = after_failures(fleet, [], NOON)

    assert noted.desired == {"general-small": 1}
    assert noted.asked == {"general-small": asked[1:]}
    assert "10 minutes" in told.why


def test_a_shortage_is_forgotten_when_one_comes() -> None:
    short = {"general-small": Shortage(until=NOON + timedelta(minutes=1), why="none left")}
    committed = Fleet(version=1, desired={"general-small": 1}, shortages=short)
    plan = Plan(desired={"general-small": 1})

    still = next_fleet(committed, committed, plan, [], [], NOON)
    over = next_fleet(
        committed, committed, plan, [ready("general-small-1")], ["general-small-1"], NOON
    )

    assert still.shortages == short
    assert over.shortages == {}


def test_every_change_is_told_with_its_reason_and_what_the_fleet_costs_then() -> None:
    before = Fleet(version=1, desired={"general-small": 1, "memory-xs": 1})
    after = Fleet(version=2, desired={"general-small": 3})
    plan = Plan(
        desired=after.desired,
        changes=(
            Resize(shape="general-small", before=1, after=3, reason="2 jobs", refused=("xs: no",)),
        ),
    )

    grown, went = resized(
        before,
        after,
        plan,
        demand=Demand(),
        workers=[ready("general-small-1")],
        policy=Policy(),
        shapes=SHAPES,
    )

    assert (grown.shape, grown.before, grown.after, grown.reason) == (
        "general-small",
        1,
        3,
        "2 jobs",
    )
    assert grown.refused == ("xs: no",)
    assert grown.version == went.version == 2
    assert (went.shape, went.after) == ("memory-xs", 0)
    assert "by itself" in went.reason

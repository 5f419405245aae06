import pytest

from clusterra.core.jobs.job import JobState
from clusterra.core.scaling.demand import Need, array_tasks, demand
from tests.builders import a_job


def test_jobs_that_ask_for_the_same_are_one_line_by_priority() -> None:
    waiting = demand([a_job(1, priority=5), a_job(2, priority=9), a_job(3, priority=9)])

    (line,) = waiting.lines
    assert line.jobs == ((2, 1), (3, 1), (1, 1))
    assert line.need == Need(cpus=2, memory_mib=4096, partition="main")


def test_the_line_with_the_highest_priority_comes_first() -> None:
    waiting = demand([a_job(1, priority=5), a_job(2, priority=9, cpus=8), a_job(3)])

    assert [line.need.cpus for line in waiting.lines] == [8, 2]


def test_only_jobs_that_wait_count() -> None:
    assert not demand([a_job(1, state=JobState.RUNNING), a_job(2, state=JobState.FAILED)]).lines


def test_what_a_job_asks_for_in_all_is_cut_to_its_nodes() -> None:
    job = a_job(cpus=10, nodes_wanted=4, memory_mib=4098, gpus=8, gpu_model="A100", exclusive=True)
    (line,) = demand([job]).lines

    assert line.need == Need(
        nodes=4,
        cpus=3,
        memory_mib=1025,
        gpus=2,
        gpu_model="a100",
        exclusive=True,
        partition="main",
    )


def test_no_cpus_are_one_and_no_nodes_are_one() -> None:
    (line,) = demand([a_job(cpus=0, nodes_wanted=0, memory_mib=0)]).lines

    assert (line.need.cpus, line.need.nodes) == (1, 1)


def test_tasks_count_only_where_more_nodes_are_allowed() -> None:
    free, bound = a_job(1, cpus=64, tasks=64), a_job(2, cpus=64, tasks=64, nodes_most=1)

    assert [line.need.tasks for line in demand([free, bound]).lines] == [64, 1]


@pytest.mark.parametrize(
    ("waiting", "number"),
    [
        ("3-9", 7),
        ("3-9%2", 2),
        ("0-8:4", 3),
        ("1,3,5-7", 5),
        ("[0-99999]", 100_000),
        ("1,4,...", 3),
        ("5", 1),
        ("1-2%50", 2),
        ("nonsense", 1),
        ("1-3:0", 3),
    ],
)
def test_an_array_counts_as_the_tasks_that_may_run_at_a_time(waiting: str, number: int) -> None:
    assert array_tasks(waiting) == number


def test_an_array_of_a_hundred_thousand_is_one_entry() -> None:
    (line,) = demand([a_job(7, array_id=7, array_waiting="0-99999")]).lines

    assert line.jobs == ((7, 100_000),)
    assert line.count == 100_000


@pytest.mark.parametrize(
    "reason",
    [
        "Dependency",
        "DependencyNeverSatisfied",
        "JobHeldUser",
        "JobHeldAdmin",
        "BeginTime",
        "Licenses",
        "AssocGrpCpuLimit",
        "AssociationJobLimit",
        "AssocMaxJobsLimit",
        "QOSMaxCpuPerUserLimit",
        "QOSGrpGRES",
        "QOSNotAllowed",
        "AccountNotAllowed",
        "InvalidAccount",
        "InvalidQOS",
        "PartitionDown",
        "PartitionInactive",
        "PartitionTimeLimit",
        "PartitionNodeLimit",
        "Reservation",
        "ReservationDeleted",
        "JobArrayTaskLimit",
        "launch_failed_requeued_held",
        "job_requeued_in_held_state",
        "BurstBufferResources",
        "DeadLine",
        "MaxRequeueExceeded",
        "Cleaning",
    ],
)
def test_what_more_workers_would_not_start_is_set_aside(reason: str) -> None:
    waiting = demand([a_job(1, reason=reason)])

    assert not waiting.lines
    assert waiting.set_aside == {1: reason}


@pytest.mark.parametrize(
    "reason",
    ["", "Resources", "Priority", "ReqNodeNotAvail", "BadConstraints", "NodeDown",
     "PartitionConfig", "SomethingOfASlurmToCome"],
)  # fmt: skip
def test_whatever_may_be_about_capacity_is_planned_for(reason: str) -> None:
    assert demand([a_job(1, reason=reason)]).lines


def test_holds_dependencies_reservations_and_named_nodes_need_no_reason_code() -> None:
    waiting = demand(
        [
            a_job(1, priority=0),
            a_job(2, dependency="afterok:1(unfulfilled)"),
            a_job(3, reservation="maintenance", reason="Resources"),
            a_job(4, nodes_required="w7", reason="ReqNodeNotAvail"),
        ]
    )
    assert waiting.set_aside == {
        1: "JobHeldUser",
        2: "Dependency",
        3: "Reservation",
        4: "ReqNodeNotAvail",
    }

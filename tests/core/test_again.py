"""The same job again: what is changed, what is said of it, and what is left alone."""

from typing import Any

import pytest

from clusterra.core.jobs import comment
from clusterra.core.jobs.again import Adjustment, adjusted, adjustment_for, again, body_of
from clusterra.core.jobs.compose import JobWish, compose, compose_raw
from clusterra.core.jobs.job import JobState
from clusterra.core.jobs.request import JobRequest
from tests.builders import NOON, a_job

HALF_MORE = Adjustment(memory_factor=1.5)
TWICE = Adjustment(time_factor=2)
RUN, NEXT = "019b0000-0000-7000-8000-000000000001", "019b0000-0000-7000-8000-000000000002"


def request(**properties: Any) -> JobRequest:
    return JobRequest(script="#!/bin/sh\n", properties=properties)


def composed(script: str = "#!/bin/sh\ntrue\n", **wish: Any) -> JobRequest:
    return compose(
        JobWish(script=script, **wish), home="/home/ana", user="ana", run_id=RUN, now=NOON
    )


@pytest.mark.parametrize(
    ("state", "adjustment"),
    [
        (JobState.OUT_OF_MEMORY, HALF_MORE),
        (JobState.TIMEOUT, TWICE),
        (JobState.DEADLINE, TWICE),
        (JobState.NODE_FAIL, Adjustment()),
        (JobState.PREEMPTED, Adjustment()),
        (JobState.BOOT_FAIL, Adjustment()),
        (JobState.LOST, Adjustment()),
        (JobState.FAILED, None),
        (JobState.CANCELLED, None),
        (JobState.COMPLETED, None),
        (JobState.RUNNING, None),
    ],
)
def test_what_may_help_follows_from_how_it_ended(
    state: JobState, adjustment: Adjustment | None
) -> None:
    assert adjustment_for(state) == adjustment


@pytest.mark.parametrize(
    ("asked", "becomes", "words"),
    [
        (
            {"memory_per_node": {"set": True, "number": 1024}},
            {"memory_per_node": {"set": True, "number": 1536}},
            "memory: 1 GiB → 1.5 GiB",
        ),
        (
            {"memory_per_node": 100},
            {"memory_per_node": {"set": True, "number": 150}},
            "memory: 100 MiB → 150 MiB",
        ),
        (
            {"memory_per_node": "100"},
            {"memory_per_node": {"set": True, "number": 150}},
            "memory: 100 MiB → 150 MiB",
        ),
        (
            {"memory_per_cpu": {"set": True, "infinite": False, "number": 1024}},
            {"memory_per_cpu": {"set": True, "number": 1536}},
            "memory per CPU: 1 GiB → 1.5 GiB",
        ),
        (
            {"memory_per_tres": "gres/gpu:8192"},
            {"memory_per_tres": "gres/gpu:12288"},
            "memory per GPU: 8 GiB → 12 GiB",
        ),
        # The job of the builder was given 4 GiB by its partition.
        ({}, {"memory_per_node": {"set": True, "number": 6144}}, "memory: 4 GiB → 6 GiB"),
        (
            {"memory_per_node": {"set": True, "number": 0}},
            {"memory_per_node": {"set": True, "number": 6144}},
            "memory: 4 GiB → 6 GiB",
        ),
        (
            {"memory_per_node": {"set": False, "number": 0}},
            {"memory_per_node": {"set": True, "number": 6144}},
            "memory: 4 GiB → 6 GiB",
        ),
    ],
)
def test_memory_is_raised_where_it_was_asked_for(
    asked: dict[str, Any], becomes: dict[str, Any], words: str
) -> None:
    made, said = adjusted(request(**asked), a_job(), HALF_MORE)

    assert made.properties == becomes
    assert said == (words,)


def test_memory_that_slurm_chose_is_raised_on_each_node() -> None:
    job = a_job(nodes_wanted=2, memory_mib=8192)

    made, said = adjusted(request(nodes="2"), job, HALF_MORE)

    assert made.properties["memory_per_node"] == {"set": True, "number": 6144}
    assert said == ("memory per node: 4 GiB → 6 GiB",)


def test_where_nobody_knows_the_memory_nothing_is_changed() -> None:
    assert adjusted(request(), a_job(memory_mib=0), HALF_MORE) == (request(), ())


@pytest.mark.parametrize(
    ("most", "becomes"), [(None, 1536), (1536, 1536), (1535, 1535), (1025, 1025), (1024, None)]
)
def test_no_more_is_asked_for_than_may_be(most: int | None, becomes: int | None) -> None:
    asked = request(memory_per_node=1024)

    made, said = adjusted(asked, a_job(), Adjustment(memory_factor=1.5, most_memory_mib=most))

    if becomes is None:
        assert (made, said) == (asked, ())
    else:
        assert made.properties["memory_per_node"] == {"set": True, "number": becomes}


def test_the_most_memory_is_that_of_a_node_however_it_was_asked_for() -> None:
    adjustment = Adjustment(memory_factor=4, most_memory_mib=6000)

    per_cpu, _ = adjusted(request(memory_per_cpu=1024), a_job(cpus=4), adjustment)

    assert per_cpu.properties["memory_per_cpu"]["number"] == 1500


@pytest.mark.parametrize(
    ("asked", "limit", "becomes", "words"),
    [
        ({"time_limit": {"set": True, "number": 60}}, 60, 120, ("time limit: 1 h → 2 h",)),
        ({"time_limit": 45}, 45, 90, ("time limit: 45 min → 1h 30m",)),
        ({}, 10, 20, ("time limit: 10 min → 20 min",)),
        ({}, None, None, ()),
    ],
)
def test_time_is_raised_from_what_it_was(
    asked: dict[str, Any], limit: int | None, becomes: int | None, words: tuple[str, ...]
) -> None:
    made, said = adjusted(request(**asked), a_job(time_limit_minutes=limit), TWICE)

    assert said == words
    if becomes is None:
        assert made == request(**asked)
    else:
        assert made.properties == {"time_limit": {"set": True, "number": becomes}}


def test_the_environment_says_what_the_properties_say() -> None:
    script = "#!/bin/sh\n#SBATCH --gpus-per-node=1 --mem-per-gpu=8G --dependency=afterok:40\ntrue\n"

    made, _ = adjusted(composed(script), a_job(started_at=NOON), HALF_MORE)

    assert "SLURM_MEM_PER_GPU=12288M" in made.properties["environment"]
    assert not [each for each in made.properties["environment"] if "DEPENDENCY" in each]


def test_no_limit_stays_none() -> None:
    endless = request(time_limit={"set": True, "infinite": True})

    assert adjusted(endless, a_job(), TWICE) == (endless, ())


def test_the_same_again_is_the_same() -> None:
    asked = composed(memory="1G", time="1h")

    assert adjusted(asked, a_job(), Adjustment()) == (asked, ())


def test_what_is_over_is_left_out() -> None:
    asked = composed(dependency="afterok:40")
    started = a_job(state=JobState.NODE_FAIL, started_at=NOON)

    made, said = adjusted(asked, started, Adjustment())
    waiting, nothing = adjusted(asked, a_job(state=JobState.CANCELLED), Adjustment())

    assert "dependency" not in made.properties
    assert not [each for each in made.properties["environment"] if "DEPENDENCY" in each]
    assert said == ("dependency: afterok:40 left out, it was met",)
    assert (waiting, nothing) == (asked, ())


def test_a_deadline_that_was_missed_is_left_out() -> None:
    asked = request(deadline=1_800_000_000, time_limit=10)

    made, _ = adjusted(asked, a_job(state=JobState.DEADLINE), TWICE)
    other, _ = adjusted(asked, a_job(state=JobState.TIMEOUT), TWICE)

    assert "deadline" not in made.properties
    assert "deadline" in other.properties


def test_of_an_array_only_the_task_that_failed_is_run_again() -> None:
    asked = composed(array="0-9%2")

    task, said = adjusted(asked, a_job(44, array_id=43, array_task=5), Adjustment())
    all_of_it, nothing = adjusted(asked, a_job(43, array_id=43, array_waiting="0-9"), Adjustment())

    assert task.properties["array"] == "5"
    assert said == ("array: 0-9%2 → 5",)
    assert (all_of_it, nothing) == (asked, ())


def test_again_it_is_known_by_another_run_id() -> None:
    first = composed(comment="try 1; a=b", env={"A": "1"})

    second = again(first, run_id=NEXT)

    assert comment.read(second.properties["comment"]) == comment.Mark(
        run_id=NEXT, note="try 1; a=b"
    )
    named = [each for each in second.properties["environment"] if each.startswith("CLUSTERRA_RUN_")]
    assert named == [f"CLUSTERRA_RUN_ID={NEXT}"]
    assert {"A=1"} <= set(second.properties["environment"])
    assert second.script == first.script


def test_lines_of_the_script_are_not_read_a_second_time() -> None:
    first = composed("#!/bin/sh\n#SBATCH --mem=1G\n#SBATCH --time=10\ntrue\n")

    made, _ = adjusted(first, a_job(), Adjustment(memory_factor=1.5, time_factor=2))
    posted = compose_raw(body_of(made), home="/home/ana", user="ana", run_id=NEXT)

    assert posted.properties["memory_per_node"] == {"set": True, "number": 1536}
    assert posted.properties["time_limit"] == {"set": True, "number": 20}


@pytest.mark.parametrize(
    "wish",
    [
        {},
        {"name": "align", "cpus": 4, "memory": "8G", "time": "2h", "nodes": "2-4", "tasks": 8},
        {"gpus": "a100:2", "array": "0-9%2", "comment": "note; a=b", "env": {"A": "x y"}},
        {"partition": "main", "qos": "normal", "constraint": "arm64", "exclusive": True},
        {"hold": True, "requeue": False, "begin": "now+1hour", "output": "out.txt", "error": "e"},
        {"dependency": "afterok:40", "workdir": "/scratch"},
    ],
)
def test_what_is_posted_again_comes_to_the_same_request(wish: dict[str, Any]) -> None:
    first = composed(**wish)

    posted = compose_raw(body_of(first), home="/home/ana", user="ana", run_id=NEXT)

    assert posted == again(first, run_id=NEXT)

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterra.core.errors import ClusterraError, Invalid
from clusterra.core.jobs.comment import Mark, read
from clusterra.core.jobs.compose import JobWish, compose

NOON = datetime(2031, 5, 1, 12, tzinfo=UTC)
RUN = "0198c2d4-7a55-7c3e-9d41-1f6a2b3c4d5e"


def script(*lines: str) -> str:
    return "\n".join(("#!/bin/bash", *(f"#SBATCH {line}" for line in lines), "true", ""))


def composed(*lines: str, max_array: int | None = None, **wishes: Any) -> dict[str, Any]:
    """The properties of a job whose script has these `#SBATCH` lines."""
    request = compose(
        JobWish(script=script(*lines), **wishes),
        home="/home/ana",
        user="ana",
        run_id=RUN,
        now=NOON,
        max_array=max_array,
    )
    assert request.script == script(*lines)
    return request.properties


def env_of(properties: dict[str, Any]) -> dict[str, str]:
    return dict(line.split("=", 1) for line in properties["environment"])


def test_a_bare_script_gets_what_slurmrestd_insists_on_and_nothing_else() -> None:
    job = composed()

    assert set(job) == {
        "name",
        "current_working_directory",
        "standard_output",
        "comment",
        "environment",
    }
    assert job["name"] == "job"
    assert job["current_working_directory"] == "/home/ana"
    assert job["standard_output"] == "/home/ana/job_%j.out"
    assert read(job["comment"]) == Mark(run_id=RUN)


def test_every_wish_reaches_slurm() -> None:
    job = composed(
        name="train",
        cpus=4,
        memory="2G",
        time="2h",
        gpus="a100:2",
        nodes="2-4",
        tasks=8,
        partition="main",
        account="lab",
        qos="high",
        array="0-3",
        dependency="afterok:7",
        constraint="fast",
        env={"A": "b"},
        workdir="/data/run",
        output="out/%A_%a.txt",
        error="/data/err.txt",
        begin="now+1hour",
        hold=True,
        requeue=False,
        exclusive=True,
        comment="grid search",
    )

    assert env_of(job)["A"] == "b"
    assert env_of(job)["SLURM_SUBMIT_DIR"] == "/data/run"
    assert read(job.pop("comment")) == Mark(run_id=RUN, note="grid search")
    del job["environment"]
    assert job == {
        "name": "train",
        "cpus_per_task": 4,
        "tres_per_task": "cpu=4",
        "flags": ["EXACT_CPU_COUNT_REQUESTED"],
        "memory_per_node": {"set": True, "number": 2048},
        "time_limit": {"set": True, "number": 120},
        "tres_per_node": "gres/gpu:a100:2",
        "nodes": "2-4",
        "tasks": 8,
        "partition": "main",
        "account": "lab",
        "qos": "high",
        "array": "0-3",
        "dependency": "afterok:7",
        "constraints": "fast",
        "current_working_directory": "/data/run",
        "standard_output": "/data/run/out/%A_%a.txt",
        "standard_error": "/data/err.txt",
        "begin_time": {"set": True, "number": int(NOON.timestamp()) + 3600},
        "hold": True,
        "requeue": False,
        "shared": ["none"],
    }


def test_numbers_of_memory_and_time_mean_mib_and_minutes() -> None:
    job = composed(memory=512, time=90, gpus=1, nodes=2)

    assert job["memory_per_node"]["number"] == 512
    assert job["time_limit"]["number"] == 90
    assert (job["tres_per_node"], job["nodes"]) == ("gres/gpu:1", "2")


def test_a_wish_wins_over_the_script_and_a_later_line_over_an_earlier_one() -> None:
    job = composed("-J first -n2 -t 5", "-J second -p main", name="wished", time=9)

    assert job["name"] == "wished"
    assert job["time_limit"]["number"] == 9
    assert (job["tasks"], job["partition"]) == (2, "main")
    assert composed("-J first", "-J second")["name"] == "second"


def test_a_wish_silences_the_lines_that_ask_for_the_same_in_other_words() -> None:
    assert "memory_per_cpu" not in composed("--mem-per-cpu=1G", memory="4G")
    assert "cpus_per_tres" not in composed("--cpus-per-gpu=8", cpus=4)
    assert composed("--gres=gpu:8,lic:1", gpus=2)["tres_per_node"] == "gres/lic:1,gres/gpu:2"
    assert "tres_per_job" not in composed("-G8", gpus=2)
    assert composed("--oversubscribe", exclusive=True)["shared"] == ["none"]
    assert composed("--no-requeue", requeue=True)["requeue"] is True
    assert composed("--requeue", "--no-requeue")["requeue"] is False


def test_false_takes_back_what_the_script_asks_for() -> None:
    job = composed("-H --exclusive --requeue", hold=False, exclusive=False, requeue=False)

    assert not {"hold", "shared"} & set(job)
    assert job["requeue"] is False


def test_a_held_job_has_no_priority_for_slurm_would_start_it() -> None:
    assert "priority" not in composed("--priority=10", hold=True)
    assert "priority" in composed("--priority=10")


@pytest.mark.parametrize(
    "line", ["--mem=1G --mem-per-cpu=1G", "--exclusive -s", "--gres=gpu:1 --gpus-per-node=1"]
)
def test_lines_that_contradict_each_other_are_refused_as_by_sbatch(line: str) -> None:
    with pytest.raises(Invalid, match="together with") as refusal:
        composed(line)

    assert refusal.value.at == "line 2"


def test_paths_are_absolute_when_they_leave_and_none_is_nowhere() -> None:
    job = composed("-D sub -o logs/%j.txt -e none")

    assert job["current_working_directory"] == "/home/ana/sub"
    assert job["standard_output"] == "/home/ana/sub/logs/%j.txt"
    assert job["standard_error"] == "/dev/null"
    assert env_of(job)["SLURM_SUBMIT_DIR"] == "/home/ana"
    assert composed(workdir="/")["standard_output"] == "/job_%j.out"


def test_tasks_of_an_array_do_not_write_over_each_other() -> None:
    assert composed("-a 0-3")["standard_output"] == "/home/ana/job_%A_%a.out"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("memory", "abc"),
        ("memory", 0),
        ("memory", "0G"),
        ("memory", -1),
        ("cpus", 0),
        ("cpus", -4),
        ("cpus", 65_534),
        ("tasks", 0),
        ("tasks", 2**31),
        ("nodes", 0),
        ("nodes", -1),
        ("nodes", "4-2"),
        ("gpus", 0),
        ("gpus", -1),
        ("gpus", "a100:0"),
        ("gpus", "a100"),
        ("time", 0),
        ("time", -1),
        ("time", "-5"),
        ("time", "0:00"),
        ("time", 2**31),
        ("array", "5-1"),
        ("array", "0-999999"),
        ("dependency", "after"),
        ("name", "a\nb"),
        ("name", "a\x00b"),
        ("name", "x" * 1025),
        ("name", ""),
        ("partition", "  "),
        ("workdir", "relative"),
        ("workdir", "/x\x00"),
        ("output", "a\x00b"),
        ("begin", "later"),
        ("comment", "x" * 1024),
        ("env", {"1A": "x"}),
        ("env", {"A-B": "x"}),
        ("env", {"A": "x\x00"}),
    ],
)
def test_a_wish_that_cannot_be_is_refused_by_its_field(field: str, value: Any) -> None:
    with pytest.raises(Invalid) as refusal:
        composed(max_array=10_001, **{field: value})

    assert refusal.value.at == field
    assert refusal.value.hint


def test_ten_thousand_cpus_are_for_slurm_to_judge() -> None:
    assert composed(cpus=10_000)["cpus_per_task"] == 10_000


def test_a_comment_has_nearly_all_of_slurms_room() -> None:
    assert read(composed(comment="x" * 960)["comment"]) == Mark(run_id=RUN, note="x" * 960)
    with pytest.raises(Invalid, match="too long: 1,000 characters"):
        composed(comment="x" * 1000)


wishes = st.fixed_dictionaries(
    {},
    optional={
        "name": st.text(),
        "cpus": st.integers(),
        "memory": st.text() | st.integers(),
        "time": st.text() | st.integers(),
        "gpus": st.text() | st.integers(),
        "nodes": st.text() | st.integers(),
        "tasks": st.integers(),
        "array": st.text("0123456789-,:%", max_size=8),
        "dependency": st.text(),
        "workdir": st.text().map(lambda path: f"/{path}"),
        "output": st.text(),
        "begin": st.text(),
        "hold": st.booleans(),
        "requeue": st.booleans(),
        "exclusive": st.booleans(),
        "comment": st.text(),
        "env": st.dictionaries(st.text(), st.text(), max_size=2),
    },
)


@given(wishes, st.lists(st.sampled_from(["-n2", "-H", "--mem=1G", "-D x", "--export=A=1"])))
def test_what_is_composed_is_always_complete(wished: dict[str, Any], lines: list[str]) -> None:
    try:
        job = composed(*lines, **wished)
    except ClusterraError:
        return

    assert env_of(job)["CLUSTERRA_RUN_ID"] == RUN
    assert job["current_working_directory"].startswith("/")
    assert job["standard_output"].startswith("/")
    assert read(job["comment"]).run_id == RUN


positive = st.integers(1, 60_000)


@given(cpus=positive, tasks=positive, memory=positive, minutes=positive)
def test_asking_beside_the_script_or_in_it_is_the_same(
    cpus: int, tasks: int, memory: int, minutes: int
) -> None:
    beside = composed(cpus=cpus, tasks=tasks, memory=memory, time=minutes)
    within = composed(f"-c{cpus} --ntasks={tasks}", f"--mem={memory}M -t {minutes}")

    assert beside == within

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterra.core.errors import ClusterraError, Forbidden, Invalid, Refused
from clusterra.core.jobs.comment import Mark, read
from clusterra.core.jobs.raw import compose_raw, is_raw

BASH = "#!/bin/bash\n"
RUN = "0198c2d4-7a55-7c3e-9d41-1f6a2b3c4d5e"


def composed(job: Any, *, max_array: int | None = None, **body: Any) -> dict[str, Any]:
    request = compose_raw(
        {"script": BASH, "job": job} | body,
        home="/home/ana",
        user="ana",
        run_id=RUN,
        max_array=max_array,
    )
    assert request.script == BASH
    return request.properties


def test_slurms_own_body_is_known_by_its_job() -> None:
    assert is_raw({"job": {}})
    assert is_raw({"jobs": []})
    assert not is_raw({"script": BASH, "name": "job"})


def test_an_empty_job_is_completed() -> None:
    job = composed({})

    assert job["name"] == "job"
    assert job["current_working_directory"] == "/home/ana"
    assert job["standard_output"] == "/home/ana/job_%j.out"
    assert read(job["comment"]) == Mark(run_id=RUN)
    assert "PATH=/usr/local/bin:/usr/bin:/bin" in job["environment"]
    assert f"CLUSTERRA_RUN_ID={RUN}" in job["environment"]
    assert composed({"array": "0-3"})["standard_output"] == "/home/ana/job_%A_%a.out"


def test_what_was_sent_is_passed_on_known_or_not() -> None:
    sent = {
        "name": "t1",
        "minimum_cpus": 2,
        "memory_per_node": {"set": True, "number": 1024},
        "time_limit": {"set": True, "infinite": True, "number": 0},
        "mail_type": ["END", "TIME=90%"],
        "current_working_directory": "/data",
        "standard_output": "/data/run-%j.log",
        "something_of_2035": {"x": [1]},
    }

    job = composed(sent)

    assert {name: job[name] for name in sent} == sent


def test_directives_in_a_raw_script_are_not_read() -> None:
    request = compose_raw(
        {"script": BASH + "#SBATCH --nods=2\n", "job": {}}, home="/h", user="u", run_id=RUN
    )

    assert "nodes" not in request.properties


def test_older_shapes_are_understood() -> None:
    request = compose_raw({"job": {"script": BASH}}, home="/h", user="u", run_id=RUN)
    assert request.script == BASH
    assert "script" not in request.properties

    job = composed({"nodes": 2, "tasks": "4", "environment": {"A": "b"}, "mail_type": "BEGIN,END"})
    assert (job["nodes"], job["tasks"]) == ("2", 4)
    assert job["mail_type"] == ["BEGIN", "END"]
    assert job["environment"] == ["A=b", f"CLUSTERRA_RUN_ID={RUN}"]


@pytest.mark.parametrize("nothing", [None, [], {}])
def test_an_environment_that_is_empty_gets_the_default(nothing: Any) -> None:
    assert "HOME=/home/ana" in composed({"environment": nothing})["environment"]


def test_a_persons_comment_is_kept_in_the_mark() -> None:
    assert read(composed({"comment": "mine; all mine"})["comment"]) == Mark(
        run_id=RUN, note="mine; all mine"
    )


@pytest.mark.parametrize("name", ["user_id", "group_id", "user_name", "uid"])
def test_nobody_chooses_who_they_are(name: str) -> None:
    for attempt in ({"job": {name: "0"}}, {"job": {}, name: "0"}):
        with pytest.raises(Forbidden) as refusal:
            compose_raw({"script": BASH} | attempt, home="/h", user="u", run_id=RUN)
        assert (refusal.value.code, refusal.value.at) == ("identity-not-yours", name)


def test_jobs_of_several_parts_are_refused() -> None:
    with pytest.raises(Refused) as refusal:
        compose_raw({"script": BASH, "jobs": [{}, {}]}, home="/h", user="u", run_id=RUN)

    assert refusal.value.code == "het-job"


def test_a_field_beside_the_job_would_be_lost_and_is_refused() -> None:
    with pytest.raises(Invalid, match='no field "name"'):
        composed({}, name="x")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("name", 5),
        ("name", "a\nb"),
        ("partition", ["main"]),
        ("tasks", -4),
        ("tasks", 0),
        ("tasks", "four"),
        ("tasks", True),
        ("tasks", 5_000_000_000),
        ("cpus_per_task", 70_000),
        ("tasks_per_node", 70_000),
        ("minimum_cpus", -1),
        ("time_limit", -5),
        ("time_limit", {"set": True, "number": -5}),
        ("time_limit", {"set": True, "number": "x"}),
        ("time_limit", {"set": True}),
        ("time_limit", "UNLIMITED"),
        ("memory_per_node", {"set": True, "number": -5}),
        ("nodes", 0),
        ("nodes", "abc"),
        ("nodes", 1.5),
        ("array", 5),
        ("array", "5-1"),
        ("array", "0-999999"),
        ("dependency", "x"),
        ("requeue", "yes"),
        ("hold", 1),
        ("mail_type", ["SOMETIME"]),
        ("mail_type", 5),
        ("flags", ["NOPE"]),
        ("shared", "sometimes"),
        ("current_working_directory", "relative"),
        ("standard_output", "a\x00b"),
        ("comment", "x" * 1024),
        ("environment", "A=b"),
        ("environment", ["A"]),
        ("environment", ["=b"]),
        ("environment", [5]),
        ("environment", {"A": 1}),
        ("environment", {"A B": "c"}),
    ],
)
def test_what_slurmrestd_would_misread_is_refused_by_its_field(name: str, value: Any) -> None:
    with pytest.raises(Invalid) as refusal:
        composed({name: value}, max_array=10_001)

    assert refusal.value.at == name
    assert refusal.value.hint


@pytest.mark.parametrize("job", [None, [], "x", 5])
def test_a_job_that_is_no_object_is_refused(job: Any) -> None:
    with pytest.raises(Invalid) as refusal:
        composed(job)

    assert refusal.value.at == "job"


@pytest.mark.parametrize("script", [5, ["#!/bin/bash"], "", "echo"])
def test_a_script_that_cannot_run_is_refused_here_too(script: Any) -> None:
    with pytest.raises(Invalid):
        composed({}, script=script)


def test_a_held_job_has_no_priority_for_slurm_would_start_it() -> None:
    assert "priority" not in composed({"hold": True, "priority": {"set": True, "number": 9}})
    assert composed({"priority": 9})["priority"] == 9


json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
names = st.sampled_from(
    ["name", "tasks", "nodes", "time_limit", "environment", "flags", "hold", "array", "comment"]
)


@given(st.dictionaries(names | st.text(), json))
def test_any_job_is_completed_or_refused(job: dict[str, Any]) -> None:
    try:
        found = composed(job)
    except ClusterraError:
        return

    assert found["environment"]
    assert found["current_working_directory"]
    assert read(found["comment"]).run_id == RUN

"""Every recorded reply, through the decoder of every version."""

import asyncio
from datetime import UTC, datetime

import msgspec
import pytest

from clusterra.adapters.slurmrest.accounting import PastJob, past_job
from clusterra.adapters.slurmrest.decode import read
from clusterra.adapters.slurmrest.duplicates import Newest, newest
from clusterra.adapters.slurmrest.jobs import JobInfo, Resources, base_state, job, tres
from clusterra.adapters.slurmrest.states import SLICE, read_marks
from clusterra.core.jobs.job import Job, JobState
from tests.adapters.slurmrest.replay import SPOKEN, elements, recording
from tests.builders import NOON, a_job


def the_jobs(release: str, version: str) -> dict[str, list[Job]]:
    found: dict[str, list[Job]] = {}
    for each in elements(recording(release, version, "jobs"), "jobs"):
        made = job(read(each, JobInfo))
        found.setdefault(made.name, []).append(made)
    return found


def the_past(release: str, version: str) -> dict[str, list[Job]]:
    found: dict[str, list[Job]] = {}
    for each in elements(recording(release, version, "past-jobs"), "jobs"):
        made = past_job(read(each, PastJob))
        found.setdefault(made.name, []).append(made)
    return found


every_version = pytest.mark.parametrize(("release", "version"), SPOKEN)


@every_version
def test_a_job_that_ended_well_is_read_the_same_in_every_version(
    release: str, version: str
) -> None:
    (done,) = the_jobs(release, version)["done"]

    assert done.state is JobState.COMPLETED
    assert (done.exit_code, done.signal, done.reason) == (0, None, "")
    assert done.started_at is not None
    assert done.ended_at is not None
    assert done.expected_at is None
    assert (done.user, done.account, done.partition, done.qos) == ("alice", "lab", "main", "normal")
    assert (done.cpus, done.nodes_wanted, done.memory_mib, done.gpus) == (1, 1, 100, 0)
    assert done.time_limit_minutes == 10
    assert (done.run_id, done.comment) == ("0190-done", "first try")
    assert done.stdout == done.stderr == f"/home/alice/slurm-{done.id}.out"


@every_version
def test_how_a_job_ended_is_a_code_or_a_signal_never_both(release: str, version: str) -> None:
    jobs = the_jobs(release, version)
    (failed,), (signalled,) = jobs["failed"], jobs["signalled"]

    assert (failed.state, failed.exit_code, failed.signal) == (JobState.FAILED, 7, None)
    assert failed.reason == "NonZeroExitCode"
    assert (signalled.exit_code, signalled.signal) == (None, 11)


@every_version
def test_output_paths_are_whole_in_every_version(release: str, version: str) -> None:
    (signalled,) = the_jobs(release, version)["signalled"]

    assert signalled.stdout == f"/home/alice/out-signalled-{signalled.id}.txt"
    assert signalled.stderr == "/home/alice/err-alice.txt"


@every_version
def test_a_running_job_has_started_and_not_ended(release: str, version: str) -> None:
    (running,) = the_jobs(release, version)["running"]

    assert running.state is JobState.RUNNING
    assert running.started_at is not None
    assert running.nodes != ""
    assert (running.ended_at, running.exit_code, running.expected_at) == (None, None, None)


@every_version
def test_a_job_cancelled_while_it_waited_has_never_started(release: str, version: str) -> None:
    jobs = the_jobs(release, version)
    (cancelled,), (dropped,) = jobs["cancelled"], jobs["dropped"]

    assert cancelled.state is dropped.state is JobState.CANCELLED
    assert cancelled.started_at is not None
    assert dropped.started_at is None
    assert dropped.ended_at is not None
    assert (dropped.exit_code, dropped.cpus, dropped.memory_mib) == (None, 1, 100)


@every_version
def test_waiting_jobs_say_why(release: str, version: str) -> None:
    jobs = the_jobs(release, version)
    (held,), (waiting,), (gpu,) = jobs["held"], jobs["waiting"], jobs["gpu"]

    assert (held.state, held.reason, held.priority) == (JobState.PENDING, "JobHeldUser", 0)
    assert waiting.reason == "Dependency"
    assert waiting.dependency.startswith("afterok:")
    assert (gpu.gpus, gpu.features) == (2, "compute-gpu")


@every_version
def test_an_array_is_one_entry_for_what_waits_and_one_for_each_started_task(
    release: str, version: str
) -> None:
    waiting, *started = sorted(the_jobs(release, version)["array"], key=lambda task: task.id)

    assert waiting.label == f"{waiting.id}_[2-5%2]"
    assert waiting.stdout == f"/home/alice/slurm-{waiting.id}_%a.out"
    assert [task.label for task in started] == [f"{waiting.id}_0", f"{waiting.id}_1"]
    assert started[0].stdout == f"/home/alice/slurm-{waiting.id}_0.out"
    assert {task.array_id for task in started} == {waiting.id}


def test_a_requeued_job_waits_again_and_knows_how_often_it_started() -> None:
    (requeued,) = the_jobs("26.05", "v0.0.45")["requeued"]

    assert (requeued.state, requeued.restarts) == (JobState.PENDING, 1)
    assert requeued.expected_at is not None
    assert (requeued.started_at, requeued.ended_at) == (None, None)


@every_version
def test_accounting_tells_of_ended_jobs_what_the_controller_told(
    release: str, version: str
) -> None:
    live, past = the_jobs(release, version), the_past(release, version)

    for name in ("done", "failed", "signalled", "dropped"):
        (told,), (kept,) = live[name], past[name]
        assert kept.reason == ""
        for fact in (
            "id", "state", "user", "account", "partition", "qos", "cpus", "nodes_wanted",
            "memory_mib", "time_limit_minutes", "nodes", "submitted_at", "started_at", "ended_at",
            "exit_code", "signal", "restarts", "work_dir", "stdout", "stderr",
        ):  # fmt: skip
            assert getattr(kept, fact) == getattr(told, fact), (name, fact)


@every_version
def test_accounting_tells_of_waiting_jobs_without_inventing_times(
    release: str, version: str
) -> None:
    past = the_past(release, version)
    array, *tasks = sorted(past["array"], key=lambda task: task.id)

    assert array.label == f"{array.id}_[2-5%2]"
    assert [task.array_task for task in tasks] == [0, 1]
    for waiting in (array, *past["held"], *past["gpu"]):
        assert waiting.state is JobState.PENDING
        assert (waiting.started_at, waiting.ended_at, waiting.nodes) == (None, None, "")
    assert past["gpu"][0].gpus == 2


@every_version
def test_each_job_has_one_mark_and_the_tasks_of_an_array_share_theirs(
    release: str, version: str
) -> None:
    found, _ = asyncio.run(read_marks(recording(release, version, "states").body))
    jobs = the_jobs(release, version)
    waiting = min(task.id for task in jobs["array"])

    assert set(found) == {each.id for same in jobs.values() for each in same}
    assert found[waiting] == "PENDING×4"
    assert found[jobs["done"][0].id] == "COMPLETED"


def test_marks_are_sorted_so_that_the_same_state_has_the_same_mark() -> None:
    reply = {"jobs": [
        {"job_id": "7_1", "state": ["RUNNING", "COMPLETING"]},
        {"job_id": "7_2", "state": ["PENDING"]},
        {"job_id": "7_3", "state": ["PENDING"]},
        {"job_id": 9, "state": "PENDING"},
    ]}  # fmt: skip

    found, _ = asyncio.run(read_marks(msgspec.json.encode(reply)))

    assert found == {7: "PENDING×2 RUNNING+COMPLETING×1", 9: "PENDING"}


def test_an_entry_that_makes_no_sense_hides_no_other() -> None:
    reply = {"jobs": [
        {"job_id": 1, "state": ["RUNNING"]},
        {"job_id": None, "state": ["RUNNING"]},
        {"job_id": "one", "state": ["RUNNING"]},
        {"job_id": 2, "state": None},
        {"job_id": 3},
        {"state": ["PENDING"], "job_id": "4", "since": {"more": [{"job_id": 5}]}},
        {"job_id": "6_7", "state": {"current": ["PENDING"]}},
        7,
    ]}  # fmt: skip

    found, _ = asyncio.run(read_marks(msgspec.json.encode(reply)))

    assert found == {1: "RUNNING", 2: "", 3: "", 4: "PENDING", 6: '{"current":["PENDING"]}'}


@pytest.mark.parametrize("spread", [False, True])
def test_a_long_queue_is_read_in_slices_and_everybody_has_a_turn_between_them(
    spread: bool,
) -> None:
    states = ["PENDING", "RUNNING", "COMPLETED"]
    jobs = [{"job_id": str(id), "state": [states[id % 3]]} for id in range(1, 5001)]
    text = msgspec.json.encode({"jobs": jobs, "errors": []})
    reply = msgspec.json.format(text) if spread else text

    async def story() -> None:
        turns = 0

        async def somebody() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        other = asyncio.create_task(somebody())
        found, _ = await read_marks(reply)
        other.cancel()

        assert found == {id: states[id % 3] for id in range(1, 5001)}
        assert turns >= len(reply) // SLICE > 1

    asyncio.run(story())


@pytest.mark.parametrize(
    ("change", "fact", "expected"),
    [
        ({"comment": None}, "comment", ""),
        ({"job_state": "RUNNING"}, "state", JobState.RUNNING),
        ({"job_state": None}, "state", JobState.PENDING),
        ({"submit_time": 1772452800}, "submitted_at", NOON),
        ({"submit_time": None}, "submitted_at", datetime.fromtimestamp(0, UTC)),
        ({"time_limit": {"set": True, "infinite": False, "number": 4294967295}}, "time_limit_minutes", None),
        ({"time_limit": {"set": False, "infinite": True, "number": 0}}, "time_limit_minutes", None),
        ({"time_limit": 15}, "time_limit_minutes", 15),
        ({"priority": {"set": True}}, "priority", 0),
        ({"exit_code": []}, "exit_code", None),
        ({"array_job_id": 0, "array_task_id": 4294967294}, "array_task", None),
        ({"tres_alloc_str": {"cpu": 2}}, "cpus", 0),
        ({"restart_cnt": "2"}, "restarts", 2),
        ({"brand_new": {"a": [1]}}, "name", "done"),
    ],
)  # fmt: skip
def test_an_odd_member_spoils_nothing_but_itself(
    change: dict[str, object], fact: str, expected: object
) -> None:
    ordinary = msgspec.json.decode(elements(recording("26.05", "v0.0.45", "jobs"), "jobs")[0])

    odd = job(read(msgspec.json.encode({**ordinary, **change}), JobInfo))

    assert getattr(odd, fact) == expected
    assert (odd.id, odd.user) == (ordinary["job_id"], "alice")


def test_of_two_jobs_with_one_id_the_later_submission_stays() -> None:
    old, new = a_job(5, name="old"), a_job(5, name="new", submitted_at=NOON.replace(hour=13))
    again = a_job(5, name="again", submitted_at=new.submitted_at, restarts=1)

    assert newest([old, new, again]) == newest([again, old, new]) == [again]


def test_a_stream_never_goes_back_to_an_older_submission() -> None:
    seen = Newest()
    old, new = a_job(5), a_job(5, submitted_at=NOON.replace(hour=13))

    assert [seen.is_news(each) for each in (new, old, new)] == [True, False, False]
    assert Newest().is_news(old)


@pytest.mark.parametrize(
    ("words", "state", "flags"),
    [
        (("RUNNING", "CONFIGURING"), JobState.RUNNING, ("CONFIGURING",)),
        (("REQUEUED", "PENDING"), JobState.PENDING, ("REQUEUED",)),
        (("COMPLETING",), JobState.RUNNING, ("COMPLETING",)),
        (("SOMETHING_NEW",), JobState.PENDING, ("SOMETHING_NEW",)),
        ((), JobState.PENDING, ()),
    ],
)
def test_the_base_state_is_found_among_the_flags(
    words: tuple[str, ...], state: JobState, flags: tuple[str, ...]
) -> None:
    assert base_state(words) == (state, flags)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cpu=2,mem=200M,node=1,billing=2", Resources(cpus=2, nodes=1, memory_mib=200)),
        ("cpu=64,mem=1.50T,node=2,gres/gpu=8", Resources(64, 2, 1572864, 8)),
        ("cpu=1,mem=4G,node=1,gres/gpu:l4=1,gres/gpu:a100=2", Resources(1, 1, 4096, 3, "l4")),
        ("cpu=1,gres/gpu=2,gres/gpu:l4=2", Resources(cpus=1, gpus=2, gpu_model="l4")),
        ("", Resources()),
        ("mem=lots,cpu=many", Resources()),
    ],
)
def test_resources_are_read_as_slurm_writes_them(text: str, expected: Resources) -> None:
    assert tres(text) == expected


@pytest.mark.parametrize(
    ("words", "state"),
    [
        (("NODE_FAIL", "REQUEUED", "COMPLETING"), JobState.PENDING),
        (("CANCELLED", "REQUEUED"), JobState.PENDING),
        (("NODE_FAIL", "COMPLETING"), JobState.RUNNING),
        (("NODE_FAIL",), JobState.NODE_FAIL),
        (("FAILED", "COMPLETING"), JobState.FAILED),
    ],
)
def test_a_job_that_will_or_may_run_again_has_not_ended(
    words: tuple[str, ...], state: JobState
) -> None:
    assert base_state(words)[0] is state


@pytest.mark.parametrize(
    ("asked", "model"),
    [
        ({"tres_per_node": "gres/gpu:a10g:2"}, "a10g"),
        ({"tres_per_task": "cpu=2,gres/gpu:a100-80gb=1"}, "a100-80gb"),
        ({"tres_per_job": "gres/gpu:4"}, ""),
        ({}, ""),
    ],
)
def test_the_model_of_a_gpu_is_known_also_where_slurm_does_not_account_for_models(
    asked: dict[str, str], model: str
) -> None:
    info = {"job_id": 1, "job_state": ["PENDING"], "tres_req_str": "cpu=1,gres/gpu=2", **asked}

    assert job(msgspec.convert(info, JobInfo)).gpu_model == model

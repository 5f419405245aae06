"""What hooks and clouds say, in every shape they have ever said it."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterra.core.errors import Invalid
from clusterra.core.events.catalogue.collector import CollectorGap
from clusterra.core.events.catalogue.jobs import JobFailed
from clusterra.core.events.derive import derive
from clusterra.core.events.event import Draft
from clusterra.core.events.heard import Heard, as_told, read, read_row, rows
from clusterra.core.jobs.job import JobState
from tests.builders import NOON, a_job

LAB = "cluslab1"
DETAIL = {
    "job_id": "41",
    "user": "ana",
    "partition": "main",
    "node": "",
    "exit_code": "256",
    "state": "FAILED",
    "nodes": "w[1-2]",
}
AT = "2026-02-07T10:00:00Z"
BOTH = {"cluster_id": LAB, "tenant_id": "ten_1"}

GENERATIONS: dict[str, dict[str, Any]] = {
    "flat, by curl": {
        "ts": "2026-02-07T15:30:00+05:30",
        "event": "job.failed",
        **BOTH,
        **DETAIL,
    },
    "nested": {
        **BOTH,
        "source": "clusterra.slurm",
        "detail-type": "job.failed",
        "time": AT,
        "detail": DETAIL,
    },
    "nested, with an underscore": {
        **BOTH,
        "source": "clusterra.slurm",
        "detail_type": "job.failed",
        "time": AT,
        "detail": DETAIL,
    },
    "entry": {
        "Source": "clusterra.slurm",
        "DetailType": "job.failed",
        "Time": AT,
        "Detail": {**DETAIL, **BOTH},
    },
    "entry, details as text": {
        "Source": "clusterra.slurm",
        "DetailType": "job.failed",
        "Time": 1770458400,
        "Detail": json.dumps({**DETAIL, **BOTH}),
    },
    "flat, by queue": {
        "ts": AT,
        "event": "job.failed",
        **{name: value for name, value in DETAIL.items() if value},
    },
}


def hear(item: object) -> Heard:
    heard = read(item, cluster=LAB, now=NOON)
    assert isinstance(heard, Heard)
    return heard


def draft(item: object) -> Draft:
    made = read(item, cluster=LAB, now=NOON)
    assert isinstance(made, Draft)
    return made


@pytest.mark.parametrize("item", GENERATIONS.values(), ids=GENERATIONS)
def test_every_generation_says_the_same(item: dict[str, Any]) -> None:
    heard = hear(item)

    assert (heard.what, heard.job_id, heard.user, heard.partition, heard.nodes) == (
        *("failed", 41, "ana", "main"),
        "w[1-2]",
    )
    assert (heard.exit_code, heard.signal, heard.state) == (1, None, "FAILED")
    assert heard.at == datetime(2026, 2, 7, 10, tzinfo=UTC)
    assert heard.id == hear(GENERATIONS["nested"]).id


@pytest.mark.parametrize(
    ("said", "code", "signal"),
    [
        *[("256", 1, None), (15, None, 15), ("0", 0, None), ("7:0", 7, None), ("0:9", None, 9)],
        *[("", None, None), (None, None, None), ("x", None, None), ("-1", None, None)],
        *[(True, None, None), ([], None, None), (1e99, None, None)],
    ],
)
def test_exit_codes_are_read_as_wait_writes_them(
    said: object, code: int | None, signal: int | None
) -> None:
    heard = hear({"event": "job.ended", "job_id": 41, "exit_code": said})

    assert (heard.exit_code, heard.signal) == (code, signal)


@pytest.mark.parametrize(
    ("event", "state", "what"),
    [
        ("job.ended", "", "ended"),
        ("job.ended", "COMPLETED", "completed"),
        ("job.ended", "CANCELLED by 2001", "cancelled"),
        ("job.ended", "OUT_OF_MEMORY", "out_of_memory"),
        ("job.failed", "NODE_FAIL", "node_fail"),
        ("job.failed", "COMPLETED", "failed"),
        ("job.completed", "", "completed"),
        ("job.allocated", "RUNNING", "allocated"),
    ],
)
def test_how_a_job_ended_is_taken_from_its_state_and_never_guessed(
    event: str, state: str, what: str
) -> None:
    assert hear({"event": event, "job_id": 41, "state": state, "exit_code": "256"}).what == what


@pytest.mark.parametrize(
    ("item", "code"),
    [
        (17, "not-an-event"),
        ({}, "not-an-event"),
        ({"job_id": 41}, "not-an-event"),
        ({"detail-type": "job.started", "detail": "{"}, "not-an-event"),
        ({"detail-type": "job.started", "detail": "[" * 100_000}, "not-an-event"),
        ({"event": "job.started"}, "which-job"),
        ({"event": "job.started", "job_id": "many"}, "which-job"),
        ({"event": "job.started", "job_id": -1}, "which-job"),
        ({"event": "job.started", "job_id": 2**40}, "which-job"),
        ({"event": "job.lost", "job_id": 41}, "unknown-event"),
        ({"event": "job.exploded", "job_id": 41}, "unknown-event"),
        ({"event": "user.login", "email": "eve@lab.org"}, "unknown-event"),
        ({"event": "admin.token.created", "id": "x"}, "unknown-event"),
        ({"event": "node.launched"}, "which-node"),
        ({"event": "collector.gap", "lost": 0}, "which-gap"),
        ({"event": "job.started", "job_id": 41, "cluster_id": "other"}, "other-cluster"),
    ],
)
def test_what_cannot_be_used_is_refused_with_a_reason(item: object, code: str) -> None:
    with pytest.raises(Invalid) as refused:
        read(item, cluster=LAB, now=NOON)

    assert refused.value.code == code
    assert refused.value.hint


def test_the_first_task_of_an_array_is_a_task() -> None:
    for task in (0, "0"):
        heard = hear({"event": "job.started", "job_id": 41, "array_id": 40, "array_task": task})
        assert heard.array_task == 0
    none = {"event": "job.started", "job_id": 41, "array_id": "0", "array_task": "4294967294"}
    assert (hear(none).array_id, hear(none).array_task) == (None, None)


def test_names_are_cut_and_made_printable() -> None:
    name = "a\x00b\n\u202e" + "☃" * 64_000

    heard = hear({"event": "job.started", "job_id": 41, "name": name})

    assert heard.name == "a b  " + "☃" * 251


@pytest.mark.parametrize("ts", ["", None, "yesterday", "0", -5, 10**30, "9" * 40, [], True])
def test_what_has_no_time_happened_now(ts: object) -> None:
    assert hear({"event": "job.started", "job_id": 41, "ts": ts}).at == NOON


def test_a_clock_that_is_an_hour_off_is_believed_about_itself() -> None:
    for off in (timedelta(hours=1), timedelta(hours=-1)):
        at = NOON + off
        assert hear({"event": "job.started", "job_id": 41, "ts": at.isoformat()}).at == at


DETAILS = st.dictionaries(
    st.sampled_from([*DETAIL, "name", "restarts", "array_id", "array_task", "ended_at"]),
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.text()),
)


@given(DETAILS, st.text() | st.integers() | st.floats())
def test_whatever_is_in_it_a_job_fact_is_heard_or_refused(
    detail: dict[str, Any], ts: object
) -> None:
    item = {**detail, "event": "job.ended", "ts": ts}
    try:
        heard = hear(item)
    except Invalid:
        return

    assert heard == hear(dict(reversed(item.items())))
    told = as_told(heard, LAB)
    assert told is None or told.subject == f"job/{heard.job_id}"


# --- machines and clusters


@pytest.mark.parametrize(
    ("name", "detail", "type", "subject"),
    [
        ("node.launched", {"instance_id": "i-1"}, "node.launched", "node/i-1"),
        ("node.terminated", {"instance_id": "i-1"}, "node.terminated", "node/i-1"),
        ("node.spot_interrupted", {"instance_id": "i-1"}, "node.spot_interrupted", "node/i-1"),
        ("cluster.state.started", {"instance_id": "i-1"}, "cluster.state.started", "cluster"),
        ("cluster.state.stopped", {"instance_id": "i-1"}, "cluster.state.stopped", "cluster"),
        (
            "node.EC2 Instance State-change Notification",
            {"instance-id": "i-1", "state": "running"},
            "node.launched",
            "node/i-1",
        ),
        (
            "node.EC2 Instance State-change Notification",
            {"instance-id": "i-1", "state": "shutting-down"},
            "cluster.notice",
            "cluster",
        ),
        (
            "node.EC2 Instance Launch Successful",
            {"EC2InstanceId": "i-1", "AutoScalingGroupName": "workers"},
            "node.launched",
            "node/i-1",
        ),
        (
            "node.EC2 Instance Terminate Successful",
            {"EC2InstanceId": "i-1"},
            "node.terminated",
            "node/i-1",
        ),
        (
            "node.EC2 Spot Instance Interruption Warning",
            {"instance-id": "i-1", "instance-action": "terminate"},
            "node.spot_interrupted",
            "node/i-1",
        ),
        (
            "cluster.EC2 Instance State-change Notification",
            {"instance-id": "i-0", "state": "stopped"},
            "cluster.state.stopped",
            "cluster",
        ),
        ("node.EC2 Fleet Instance Change", {"instances": ["i-1"]}, "cluster.notice", "cluster"),
        ("test.install", {"user": "root"}, "collector.tested", "cluster"),
    ],
)
def test_notices_of_machines_are_facts(
    name: str, detail: dict[str, Any], type: str, subject: str
) -> None:
    made = draft({"source": "clusterra.infra", "detail-type": name, "time": AT, "detail": detail})

    assert (made.fact.type, made.subject) == (type, subject)
    assert made.at == datetime(2026, 2, 7, 10, tzinfo=UTC)


def test_a_machine_is_launched_once_whoever_says_so() -> None:
    by_group = draft(
        {"event": "node.EC2 Instance Launch Successful", "ts": AT, "EC2InstanceId": "i-1"}
    )
    by_cloud = draft({"event": "node.launched", "instance_id": "i-1"})
    by_batch = read_row(
        "nodes.upsert", {"ec2_instance_id": "i-1", "ec2_state": "running"}, cluster=LAB, now=NOON
    )

    assert by_group.id == by_cloud.id == by_batch.id


def test_a_cluster_may_start_again_and_again() -> None:
    first = draft({"event": "cluster.state.started", "instance_id": "i-0", "ts": AT})
    again = draft({"event": "cluster.state.started", "instance_id": "i-0", "ts": AT})
    later = draft(
        {"event": "cluster.state.started", "instance_id": "i-0", "ts": "2026-02-08T10:00:00Z"}
    )

    assert first.id == again.id != later.id


def test_a_gap_says_how_much_and_when() -> None:
    made = draft(
        {"event": "collector.gap", "lost": "7", "since": AT, "until": "1770458460", "why": "full"}
    )

    assert made.fact == CollectorGap(
        lost=7,
        since=datetime(2026, 2, 7, 10, tzinfo=UTC),
        until=datetime(2026, 2, 7, 10, 1, tzinfo=UTC),
        why="full",
    )


# --- batches


def test_the_rows_of_a_batch_are_found_however_their_tables_are_spelled() -> None:
    nested = {"jobs": {"update": [{"job_id": "1"}, {"job_id": "2"}]}, "nodes": {"upsert": []}}
    dotted = {"jobs.update": [{"job_id": "1"}, {"job_id": "2"}], "nodes.upsert": []}

    assert (
        list(rows(nested))
        == list(rows(dotted))
        == [
            ("jobs.update", {"job_id": "1"}),
            ("jobs.update", {"job_id": "2"}),
        ]
    )


@pytest.mark.parametrize(
    ("row", "what", "exit_code"),
    [
        ({"job_id": "41", "state": "running", "started_at": AT, "node": "w1"}, "started", None),
        ({"job_id": "41", "state": "completed", "completed_at": AT}, "completed", None),
        ({"job_id": "41", "state": "failed", "completed_at": AT, "exit_code": 256}, "failed", 1),
        ({"job_id": "41"}, "touched", None),
    ],
)
def test_a_row_about_a_job_is_heard(row: dict[str, Any], what: str, exit_code: int | None) -> None:
    heard = read_row("jobs.update", row, cluster=LAB, now=NOON)

    assert isinstance(heard, Heard)
    assert (heard.what, heard.exit_code) == (what, exit_code)


@pytest.mark.parametrize(
    ("table", "row", "code"),
    [
        ("jobs.update", {"state": "running"}, "which-job"),
        ("jobs.update", 5, "not-a-row"),
        ("nodes.upsert", {"ec2_instance_id": "i-1", "ec2_state": "tired"}, "unknown-state"),
        ("clusters.update", {"state": "unknown"}, "unknown-state"),
        ("users.update", {}, "unknown-table"),
    ],
)
def test_a_row_that_cannot_be_used_is_refused(table: str, row: object, code: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_row(table, row, cluster=LAB, now=NOON)

    assert refused.value.code == code


# --- when Slurm knows nothing of the job


def test_what_was_told_of_an_unknown_job_is_an_event_of_the_catalogue() -> None:
    heard = hear({**GENERATIONS["nested"], "detail": {**DETAIL, "started_at": 1770458390}})

    told = as_told(heard, LAB)

    assert told is not None
    assert isinstance(told.fact, JobFailed)
    assert (told.fact.exit_code, told.fact.observed_by, told.fact.ran_seconds) == (1, "hook", 10)
    assert (told.subject, told.at) == ("job/41", heard.at)


def test_nothing_is_told_where_only_that_something_happened_was_said() -> None:
    assert as_told(hear({"event": "job.ended", "job_id": 41, "exit_code": "0"}), LAB) is None


def test_two_hooks_that_tell_the_same_end_tell_it_once() -> None:
    end = {"event": "job.ended", "job_id": 41, "state": "COMPLETED", "ended_at": 1770458400}
    one = as_told(hear({**end, "ts": AT}), LAB)
    other = as_told(hear({**end, "ts": "2026-02-07T10:00:03Z"}), LAB)

    assert one is not None
    assert other is not None
    assert one.id == other.id


def test_what_is_told_with_its_submission_is_the_event_that_observation_would_make() -> None:
    job = a_job(
        state=JobState.COMPLETED, started_at=NOON, ended_at=NOON + timedelta(minutes=1), nodes="w1"
    )
    [observed] = [
        each for each in derive(None, job, cluster=LAB, now=NOON) if "completed" in each.fact.type
    ]

    told = as_told(
        hear(
            {
                "event": "job.ended",
                "job_id": job.id,
                "state": "COMPLETED",
                "submitted_at": int(job.born_at.timestamp()),
                "ended_at": int((NOON + timedelta(minutes=1)).timestamp()),
            }
        ),
        LAB,
    )

    assert told is not None
    assert told.id == observed.id

"""One event as a message."""

from datetime import UTC, datetime
from typing import Any

import pytest

from clusterra.core.events.catalogue import CATALOGUE
from clusterra.core.events.severity import Severity
from clusterra.core.webhooks.message import message
from clusterra.core.webhooks.telling import JobContext, Place
from tests.core.webhooks.tellings import ALIGN, MUMBAI, a_telling, completed, failed, started


def sentence(type: str, data: dict[str, Any] | None = None, **facts: Any) -> str:
    told = a_telling(type, data=ALIGN | (data or {}), **facts)
    return message(told, MUMBAI).sentence


def test_a_start_says_whose_it_is_where_and_at_what_price() -> None:
    said = message(started(), MUMBAI).sentence

    assert said == "Job 41 started: ana's align on main, 2 nodes, $0.19/h"


def test_a_failure_says_why_where_when_what_it_cost_and_what_to_do() -> None:
    said = message(failed(), MUMBAI)

    assert said.sentence == (
        "Job 41 failed: out of memory on general-medium-2 at 02:14 IST after 2m 04s. Cost: $1.31. "
        "Asked 8 GiB, used 7.9 GiB. Retry suggested: 12 GiB."
    )
    assert said.severity is Severity.ERROR
    assert said.title + said.rest == said.sentence


def test_an_end_says_how_long_and_how_much() -> None:
    assert message(completed(), MUMBAI).sentence == (
        "Job 41 completed after 4h 12m. Final cost: $142.00."
    )


@pytest.mark.parametrize(
    ("type", "data", "actor", "said"),
    [
        (
            "job.failed",
            {"nodes": "w[1-8]", "signal": 9, "ran_seconds": 60},
            "system:slurm",
            "Job 41 failed: signal 9 (KILL) on 8 nodes at 02:14 IST after 1m 00s.",
        ),
        (
            "job.failed",
            {"reason": "JobLaunchFailure"},
            "system:slurm",
            "Job 41 failed: JobLaunchFailure at 02:14 IST before it started.",
        ),
        (
            "job.timeout",
            {"nodes": "w1", "ran_seconds": 3600},
            "system:slurm",
            "Job 41 timed out on w1 at 02:14 IST after 1h 00m.",
        ),
        (
            "job.node_fail",
            {"nodes": "w1", "ran_seconds": 60},
            "system:slurm",
            "Job 41 failed: worker w1 lost at 02:14 IST after 1m 00s.",
        ),
        (
            "job.cancelled",
            {"ran_seconds": None},
            "user:ben@lab.example",
            "Job 41 was cancelled by ben@lab.example at 02:14 IST before it started.",
        ),
        (
            "job.cost.over_quota",
            {"cancels_at": "2026-11-15T20:50:00Z", "why": "ana is over $50.00 this month"},
            "system:meter",
            "Job 41 will be cancelled at 02:20 IST: ana is over $50.00 this month.",
        ),
        ("job.held", {}, "user:ben@lab.example", "Job 41: ben@lab.example holds it"),
        ("job.resumed", {}, "system:slurm", "Job 41 runs on"),
        ("job.checkpoint_written", {}, "system:slurm", "Job 41 checkpoint written"),
    ],
)
def test_every_end_has_its_sentence(type: str, data: dict[str, Any], actor: str, said: str) -> None:
    assert sentence(type, data, actor=actor) == said


@pytest.mark.parametrize(
    ("job", "said"),
    [
        (JobContext(cost_micros=28_000_000), "Cost so far: $28.00."),
        (JobContext(cost_micros=28_000_000, is_final=True), "Final cost: $28.00."),
        (JobContext(cost_micros=0, is_final=True, estimate=True), "Final cost: $0.00 (estimate)."),
        (JobContext(), "after 9 s."),
        (None, "after 9 s."),
    ],
)
def test_a_cost_is_called_what_it_is_and_left_out_where_it_is_not_known(
    job: JobContext | None, said: str
) -> None:
    assert sentence("job.completed", {"ran_seconds": 9}, job=job).endswith(said)


@pytest.mark.parametrize(
    ("zone", "at", "clock"),
    [
        ("Asia/Kolkata", datetime(2026, 11, 15, 20, 44, tzinfo=UTC), "2026-11-16 02:14 IST"),
        ("Europe/Berlin", datetime(2026, 7, 1, 10, tzinfo=UTC), "2026-07-01 12:00 CEST"),
        ("Europe/Berlin", datetime(2026, 12, 1, 10, tzinfo=UTC), "2026-12-01 11:00 CET"),
        ("Asia/Dubai", datetime(2026, 7, 1, 10, tzinfo=UTC), "2026-07-01 14:00 UTC+04"),
        ("", datetime(2026, 7, 1, 10, tzinfo=UTC), "2026-07-01 10:00 UTC"),
        ("Mars/Olympus", datetime(2026, 7, 1, 10, tzinfo=UTC), "2026-07-01 10:00 UTC"),
    ],
)
def test_times_are_the_readers_own_and_say_so(zone: str, at: datetime, clock: str) -> None:
    said = message(a_telling("job.failed", at=at), Place(zone=zone))

    assert said.footer.endswith(clock)
    assert f"at {clock[11:]}" in said.sentence


def test_there_is_a_link_only_where_the_console_is() -> None:
    assert message(completed(), MUMBAI).link == "https://hpc.lab.example/clusters/clus1a2b/jobs/41"
    assert message(completed(), Place()).link == ""
    assert message(completed(), Place(console="javascript:alert(1)//")).link == ""
    assert message(a_telling("node.down", subject="node/w1", data={}), MUMBAI).link == ""


def test_a_link_to_what_an_automation_made_is_one_to_the_new_job() -> None:
    data = {"job_id": 41, "made_job_id": 44, "name": "more-memory", "action": "retry"}

    assert message(a_telling("automation.fired", data=data), MUMBAI).link.endswith("/jobs/44")


def test_what_was_made_up_says_so() -> None:
    said = message(a_telling(id="test_1"), MUMBAI)

    assert said.sentence.startswith("Test: Job 41 completed")
    assert said.headline.startswith("Test: ")
    assert said.title + said.rest == said.sentence


def test_only_the_last_lines_of_an_output_are_told() -> None:
    lines = tuple(f"line {number}" for number in range(40))

    told = message(a_telling(job=JobContext(last_lines=lines)), MUMBAI)

    assert told.output[-1] == "line 39"
    assert len(told.output) == 12


@pytest.mark.parametrize("type", sorted(CATALOGUE))
def test_every_kind_of_event_is_a_message_even_with_nothing_known(type: str) -> None:
    told = message(a_telling(type, subject="", actor="", cluster="", data={}), Place())

    assert told.sentence
    assert told.headline

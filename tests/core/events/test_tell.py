"""Events in words, as people read them in the terminal and in chat."""

from typing import Any

import pytest

from clusterra.core.events.catalogue import CATALOGUE
from clusterra.core.events.tell import _JOBS, _PLAIN, person, tell
from clusterra.core.words import span


@pytest.mark.parametrize(
    ("type", "data", "by", "sentence"),
    [
        (
            "job.submitted",
            {"name": "align", "cpus": 2, "memory_mib": 4096},
            "ana",
            "ana submitted align: 2 CPUs, 4 GiB",
        ),
        ("job.submitted", {"user": "ben", "gpus": 1}, "", "ben submitted a job: 1 GPU"),
        ("job.pending", {"reason": "Resources"}, "", "waits for its turn"),
        ("job.pending", {"reason": "Dependency"}, "", "waits: Dependency"),
        ("job.started", {"nodes": "w1", "waited_seconds": 3}, "", "started on w1 after waiting 3 s"),
        ("job.completed", {"ran_seconds": 252}, "", "completed after 4m 12s"),
        ("job.failed", {"exit_code": 3, "ran_seconds": 9}, "", "failed with exit code 3 after 9 s"),
        ("job.failed", {"signal": 9, "ran_seconds": 9}, "", "failed with signal 9 (KILL) after 9 s"),
        ("job.cancelled", {"ran_seconds": None}, "ben", "ben cancelled it before it started"),
        ("job.cancelled", {"ran_seconds": 60}, "", "was cancelled after 1m 00s"),
        (
            "job.cancelled",
            {"ran_seconds": 60, "why": "the limit is $1.00"},
            "",
            "was cancelled after 1m 00s: the limit is $1.00",
        ),
        ("job.requeued", {"restarts": 2}, "", "went back into the queue, restart 2"),
        ("job.held", {"reason": "JobHeldUser"}, "ana", "ana holds it"),
        ("job.time_limit_near", {"time_limit_minutes": 60}, "", "comes near its time limit of 1h 00m"),
        ("node.drained", {"reason": "bad disk"}, "", "takes no new jobs: bad disk"),
        ("node.registered", {"cpus": 8, "memory_mib": 512}, "", "joined with 8 CPUs, 512 MiB"),
        ("cluster.recovered", {"unseen_seconds": 3700}, "", "is seen again after 1h 01m"),
        ("admin.token.revoked", {"id": "t1"}, "root", "root revoked the token t1"),
        (
            "webhook.failing",
            {"name": "ops", "failures": 12, "percent": 50, "why": "it answered 500"},
            "",
            ("the webhook ops was not reached 12 times in a row, and is 50 % on the way to being "
            "disabled: it answered 500"),
        ),
        (
            "webhook.delivery.dead",
            {"name": "ops", "event_type": "job.failed", "attempts": 11, "why": "it answered 500"},
            "",
            "the webhook ops was not told of job.failed after 11 attempts: it answered 500",
        ),
        (
            "automation.fired",
            {
                "name": "more-memory",
                "action": "retry",
                "cause_type": "job.out_of_memory",
                "job_id": 41,
                "made_job_id": 44,
                "changed": ["memory: 8 GiB → 12 GiB"],
            },
            "",
            ("the automation more-memory submitted job 41 again as job 44 after job.out_of_memory: "
            "memory: 8 GiB → 12 GiB"),
        ),
        (
            "automation.stopped",
            {"name": "more-memory", "cause_type": "job.failed", "job_id": 41, "why": "3 of 3 used"},
            "",
            "the automation more-memory leaves job.failed of job 41 alone: 3 of 3 used",
        ),
        ("collector.gap", {"lost": 1200, "why": "disk"}, "", "1,200 messages of hooks could not be kept: disk"),
    ],
)  # fmt: skip
def test_an_event_is_one_sentence(type: str, data: dict[str, Any], by: str, sentence: str) -> None:
    assert tell(type, data, by=by) == sentence


@pytest.mark.parametrize("type", sorted(CATALOGUE))
def test_every_kind_of_event_has_words_of_its_own_even_with_nothing_known(type: str) -> None:
    assert type in _JOBS or type in _PLAIN
    assert tell(type, {})


def test_a_kind_that_is_not_known_yet_is_told_by_its_name() -> None:
    assert tell("job.checkpoint_written", {}) == "checkpoint written"


def test_reasons_are_put_into_the_words_of_whoever_asks() -> None:
    said = tell("job.pending", {"reason": "Licenses"}, explain=lambda _: "a license is in use")

    assert said == "waits: a license is in use"


def test_only_people_are_named_as_having_acted() -> None:
    assert person("user", "ana") == "ana"
    assert person("system", "slurm") == ""


@pytest.mark.parametrize(
    ("seconds", "words"), [(0, "0 s"), (59, "59 s"), (60, "1m 00s"), (3600, "1h 00m"), (90_000, "1d 01h")]
)  # fmt: skip
def test_spans_have_seconds_below_an_hour_and_no_more_than_two_units(
    seconds: int, words: str
) -> None:
    assert span(seconds) == words

from datetime import timedelta

import pytest

from clusterra.cli.amounts import duration, file_size, limit, memory, stopwatch
from clusterra.cli.words import reason_words, state_words
from clusterra.core.words import count


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (31.9, "31 s"),
        (59, "59 s"),
        (60, "1m 00s"),
        (124, "2m 04s"),
        (3600, "1h 00m"),
        (3900, "1h 05m"),
        (90000, "1d 01h"),
        (-4, "0 s"),
    ],
)
def test_durations_read_as_people_say_them(seconds: float, words: str) -> None:
    assert duration(timedelta(seconds=seconds)) == words


def test_a_ticking_clock_grows_hours_when_it_needs_them() -> None:
    assert stopwatch(timedelta(seconds=14)) == "00:14"
    assert stopwatch(timedelta(seconds=3725)) == "1:02:05"


@pytest.mark.parametrize(
    ("minutes", "words"),
    [
        (45, "45 min"),
        (60, "1 h"),
        (90, "1h 30m"),
        (1440, "1 day"),
        (2880, "2 days"),
        (3000, "2d 02h"),
        (None, "no time limit"),
    ],
)
def test_time_limits_are_short(minutes: int | None, words: str) -> None:
    assert limit(minutes) == words


def test_sizes_carry_their_unit() -> None:
    assert [memory(mib) for mib in (512, 1024, 1536, 262144)] == [
        "512 MiB",
        "1 GiB",
        "1.5 GiB",
        "256 GiB",
    ]
    assert [file_size(size) for size in (12, 2100, 999_960, 5_000_000_000)] == [
        "12 B",
        "2.1 kB",
        "1.0 MB",
        "5.0 GB",
    ]


def test_one_is_singular() -> None:
    assert (count(1, "job"), count(12400, "job")) == ("1 job", "12,400 jobs")


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("Resources", "what it asks for is in use (Resources)"),
        ("Priority", "jobs with a higher priority are ahead of it (Priority)"),
        (
            "ReqNodeNotAvail, UnavailableNodes:w1",
            "no node that fits it is up right now (ReqNodeNotAvail)",
        ),
        (
            "AssocGrpCpuLimit",
            "all jobs of its account together are at their limit of CPUs (AssocGrpCpuLimit)",
        ),
        (
            "AssocGrpCPURunMinutesLimit",
            (
                "all jobs of its account together are at their limit of CPU time of running jobs "
                "(AssocGrpCPURunMinutesLimit)"
            ),
        ),
        (
            "QOSMaxJobsPerUserLimit",
            "its QOS is at its limit of jobs for one person (QOSMaxJobsPerUserLimit)",
        ),
        (
            "QOSMaxMemoryPerJob",
            "its QOS is at its limit of memory for one job (QOSMaxMemoryPerJob)",
        ),
        (
            "QOSMinCpuNotSatisfied",
            "its QOS asks for more CPUs than it requests (QOSMinCpuNotSatisfied)",
        ),
        ("Nodes_required_for_job_are_DOWN", "Nodes required for job are DOWN"),
        ("SomethingNew", "SomethingNew"),
        ("None", ""),
        ("", ""),
    ],
)
def test_a_reason_is_words_first_and_then_its_code(reason: str, words: str) -> None:
    assert reason_words(reason) == words


def test_states_have_a_mark_and_one_word() -> None:
    assert str(state_words("RUNNING")) == "● running"
    assert str(state_words("RUNNING", ["COMPLETING"])) == "● ending"
    assert str(state_words("PENDING", [], "JobHeldUser")) == "◌ held"
    assert str(state_words("OUT_OF_MEMORY")) == "✗ memory"
    assert str(state_words("BRAND_NEW")) == "? brand new"

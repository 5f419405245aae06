"""Tokens, output paths, nodes and partitions: the small readings."""

from datetime import timedelta

import jwt
import pytest

from clusterra.adapters.slurmrest.cluster import (
    ConfReply,
    DiagReply,
    NodeInfo,
    PartitionInfo,
    cluster_name,
    gpus,
    node,
    partition,
    release,
    started,
)
from clusterra.adapters.slurmrest.decode import moment, read
from clusterra.adapters.slurmrest.output import Naming, expand
from clusterra.adapters.slurmrest.signals import known_signal
from clusterra.adapters.slurmrest.submission import accepted, read_submission
from clusterra.adapters.slurmrest.tokens import Tokens
from clusterra.core.errors import Invalid
from tests.adapters.slurmrest.replay import (
    KEY,
    NEWEST,
    SPOKEN,
    StoppedClock,
    elements,
    recording,
)
from tests.builders import NOON


def test_a_token_names_one_user_and_lives_five_minutes_at_most() -> None:
    token = Tokens(KEY, StoppedClock()).of("ana")

    claims = jwt.decode(
        token, KEY, algorithms=["HS256"], options={"verify_exp": False, "verify_iat": False}
    )

    assert claims["sun"] == "ana"
    assert claims["exp"] == NOON.timestamp() + 300


def test_a_token_is_kept_until_a_minute_is_left_and_not_longer() -> None:
    clock = StoppedClock()
    tokens = Tokens(KEY, clock)
    first = tokens.of("ana")

    clock.time = NOON + timedelta(minutes=4)
    assert tokens.of("ana") == first

    clock.time += timedelta(seconds=1)
    assert tokens.of("ana") != first
    assert tokens.of("ana") != tokens.of("bo")


TASK = Naming(
    job=45, array=43, task=7, user="ana", name="fit", nodes="w[03-04],x1", work_dir="/home/ana"
)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("slurm-%j.out", "/home/ana/slurm-45.out"),
        ("/data/%u/%x-%A_%a.log", "/data/ana/fit-43_7.log"),
        ("%N.%n.%t", "/home/ana/w03.0.0"),
        ("%6j-%3a", "/home/ana/000045-007"),
        ("100%%.txt", "/home/ana/100%.txt"),
        ("a\\b%j", "/home/ana/ab%j"),
        ("odd-%q", "/home/ana/odd-%q"),
        ("", ""),
    ],
)
def test_output_patterns_mean_what_they_mean_to_slurm(pattern: str, path: str) -> None:
    assert expand(pattern, TASK) == path


def test_the_tasks_still_to_come_share_one_pattern() -> None:
    waiting = Naming(job=43, array=43, work_dir="/w")

    assert expand("%A_%a.out", waiting) == "/w/43_%a.out"


def test_outside_an_array_a_task_has_slurms_number_for_none() -> None:
    single = Naming(job=9, work_dir="/w")

    assert expand("%A.out", single) == "/w/9.out"
    assert expand("%a-%b.out", single) == "/w/4294967294-4.out"


@pytest.mark.parametrize(
    ("gres", "count"),
    [
        ("", 0),
        ("gpu", 1),
        ("gpu:4", 4),
        ("gpu:l4:2(S:0)", 2),
        ("gpu:a100:1(S:0,1),gpu:l4:2,shard:8", 3),
        ("gpu:8(IDX:0-3,5)", 8),
        ("gpu:2g.10gb:3", 3),
        ("craynetwork:4", 0),
    ],
)
def test_gpus_are_counted_however_they_are_written(gres: str, count: int) -> None:
    assert gpus(gres) == count


@pytest.mark.parametrize(("slurm", "version"), SPOKEN)
def test_nodes_and_partitions_are_read_in_every_version(slurm: str, version: str) -> None:
    nodes = [
        node(read(each, NodeInfo)) for each in elements(recording(slurm, version, "nodes"), "nodes")
    ]
    partitions = [
        partition(read(each, PartitionInfo))
        for each in elements(recording(slurm, version, "partitions"), "partitions")
    ]

    first = nodes[0]
    assert sorted(each.name for each in nodes) == ["w1", "w2"]
    assert first.state in ("IDLE", "MIXED")
    assert first.flags == ("DYNAMIC_NORM",)
    assert (first.cpus, first.memory_mib, first.features) == (8, 16000, ("compute-small",))
    assert first.booted_at is not None
    by_name = {each.name: each for each in partitions}
    assert (by_name["main"].state, by_name["main"].max_minutes) == ("UP", None)
    assert (by_name["short"].max_minutes, by_name["short"].default) == (30, False)
    assert by_name["main"].default is (version == "v0.0.45")
    assert by_name["main"].cpus_total == 160


@pytest.mark.parametrize(("slurm", "version"), SPOKEN)
def test_a_slurm_names_itself_in_every_reply(slurm: str, version: str) -> None:
    diag = read(recording(slurm, version, "diag").body, DiagReply)

    assert release(diag).startswith(slurm)
    assert cluster_name(diag) == "dev"
    assert moment(diag.statistics.req_time_start) is not None


def test_the_newest_version_says_when_the_controller_started() -> None:
    conf = read(recording("26.05", "v0.0.45", "conf").body, ConfReply)

    assert moment(conf.slurm_conf_meta.boot_time) is not None


def test_counters_that_start_over_at_midnight_are_no_restart() -> None:
    midnight = NOON.replace(hour=0) + timedelta(days=1)
    later = midnight + timedelta(minutes=1)

    assert started(NOON, before=None) == NOON
    assert started(midnight, before=NOON) == NOON
    assert started(later, before=NOON) == later
    assert started(midnight, before=None) == midnight
    assert started(None, before=NOON) is None


@pytest.mark.parametrize("name", ["usr1", "USR1", "SIGUSR1", "10", " Usr1 "])
def test_a_signal_is_known_by_any_of_its_names(name: str) -> None:
    assert known_signal(name) == "SIGUSR1"


@pytest.mark.parametrize("name", ["FOO", "99", "", "RTMIN+1", "-9"])
def test_a_signal_slurm_would_not_know_is_refused(name: str) -> None:
    with pytest.raises(Invalid) as refusal:
        known_signal(name)

    assert refusal.value.at == "signal"


@pytest.mark.parametrize(("slurm", "version"), NEWEST)
def test_remarks_on_a_submission_are_said_once_and_without_noise(slurm: str, version: str) -> None:
    taken = accepted(read_submission(recording(slurm, version, "submit-held")))

    assert taken is not None
    assert set(taken.warnings) == {
        "Job is in held state, pending scheduler release",
        'Ignoring unknown field "unheard_of"',
    }


@pytest.mark.parametrize(("slurm", "version"), NEWEST)
def test_a_reply_that_names_a_job_is_an_accepted_job_even_as_an_error(
    slurm: str, version: str
) -> None:
    reply = recording(slurm, version, "submit-flag")
    taken = accepted(read_submission(reply))

    assert reply.status == 500
    assert taken is not None
    assert taken.job_id > 0
    assert taken.warnings == ('Unknown flag "NOPE" (mail_type)',)

"""The table of facts: what an sbatch option is to slurmrestd.

Each line was submitted held with sbatch, and through slurmrestd with the
properties beside it, on Slurm 24.11 (v0.0.42) and 26.05 (v0.0.44, v0.0.45); the
two jobs and their environments were the same.
"""

from datetime import UTC, datetime
from typing import Any

import pytest

from clusterra.core.errors import Invalid
from clusterra.core.jobs.notation import SMALL, Ask
from clusterra.core.jobs.options import IGNORED, OPTIONS, REFUSED, SAME_AS, Takes
from clusterra.core.jobs.properties import properties
from clusterra.core.jobs.script import directives
from clusterra.core.units import LARGEST

NOON = datetime(2031, 5, 1, 12, tzinfo=UTC)
EXACT = ["EXACT_CPU_COUNT_REQUESTED"]


def translated(options: str, *, max_array: int | None = None) -> dict[str, Any]:
    asks = [
        Ask(option=each.option, value=each.value, at="line 2", said=f"--{each.option}")
        for each in directives(f"#!/bin/bash\n#SBATCH {options}\n")
    ]
    return properties(asks, now=NOON, max_array=max_array)


def number(value: int) -> dict[str, Any]:
    return {"set": True, "number": value}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("-J name", {"name": "name"}),
        ("-N2", {"nodes": "2"}),
        ("-N 2-4", {"nodes": "2-4"}),
        ("-N 1-4:2", {"nodes": "1-4:2"}),
        ("-N 1k", {"nodes": "1k"}),
        ("-n4", {"tasks": 4}),
        ("-c2", {"cpus_per_task": 2, "tres_per_task": "cpu=2", "flags": EXACT}),
        ("--ntasks-per-node=2", {"tasks_per_node": 2}),
        ("--ntasks-per-core=1", {"tasks_per_core": 1}),
        ("--ntasks-per-socket=2", {"tasks_per_socket": 2}),
        ("--mincpus=2", {"minimum_cpus_per_node": 2}),
        ("--mem=1G", {"memory_per_node": number(1024)}),
        ("--mem=0", {"memory_per_node": number(0)}),
        ("--mem-per-cpu=50", {"memory_per_cpu": number(50)}),
        ("--mem-per-gpu=100", {"memory_per_tres": "gres/gpu:100"}),
        ("-t 1:30:00", {"time_limit": number(90)}),
        ("-t 0", {"time_limit": {"set": True, "infinite": True}}),
        ("-t UNLIMITED", {"time_limit": {"set": True, "infinite": True}}),
        ("--time-min=3", {"time_minimum": number(3)}),
        ("-p main", {"partition": "main"}),
        ("-A lab -q high", {"account": "lab", "qos": "high"}),
        ("-a 0-10:2%2", {"array": "0-10:2%2"}),
        ("-a [1-3]", {"array": "[1-3]"}),
        (
            "-o out -e err -i in",
            {"standard_output": "out", "standard_error": "err", "standard_input": "in"},
        ),
        ("-D /tmp", {"current_working_directory": "/tmp"}),
        ("-d afterok:1:2_3,afterany:4", {"dependency": "afterok:1:2_3,afterany:4"}),
        ("-d after:1+5", {"dependency": "after:1+5"}),
        ("-d singleton", {"dependency": "singleton"}),
        ("-C a&b --prefer=c", {"constraints": "a&b", "prefer": "c"}),
        ("--gres=gpu:2,lic", {"tres_per_node": "gres/gpu:2,gres/lic"}),
        ("--gres=gres/gpu:a100:2", {"tres_per_node": "gres/gpu:a100:2"}),
        ("--gres=none", {}),
        ("-G a100:2", {"tres_per_job": "gres/gpu:a100:2"}),
        ("--gpus-per-node=2", {"tres_per_node": "gres/gpu:2"}),
        ("--gpus-per-socket=2", {"tres_per_socket": "gres/gpu:2"}),
        (
            "--gpus-per-task=1",
            {"tres_per_task": "gres/gpu=1", "tres_bind": "gres/gpu:per_task:1"},
        ),
        (
            "--gpus-per-task=a100:1 -c2",
            {
                "tres_per_task": "cpu=2,gres/gpu:a100=1",
                "tres_bind": "gres/gpu:per_task:1",
                "cpus_per_task": 2,
                "flags": EXACT,
            },
        ),
        (
            "--tres-per-task=cpu=2",
            {"tres_per_task": "cpu=2", "cpus_per_task": 2, "flags": EXACT},
        ),
        (
            "-G4 --ntasks-per-gpu=2",
            {"tres_per_job": "gres/gpu:4", "ntasks_per_tres": 2, "tasks": 8},
        ),
        ("--cpus-per-gpu=2", {"cpus_per_tres": "gres/gpu:2"}),
        ("--gpu-bind=closest", {"tres_bind": "gres/gpu:closest"}),
        ("--gpu-freq=high", {"tres_freq": "gpu:high"}),
        ("--exclusive", {"shared": ["none"]}),
        ("--exclusive=user", {"shared": ["user"]}),
        ("-s", {"shared": ["oversubscribe"]}),
        ("-w w[1,3],gpu7 -x w2", {"required_nodes": ["w[1,3]", "gpu7"], "excluded_nodes": ["w2"]}),
        ("-b now+1hour", {"begin_time": number(int(NOON.timestamp()) + 3600)}),
        ("-b now", {"begin_time": number(int(NOON.timestamp()))}),
        ("-b 2031-05-01T16:00:00Z", {"begin_time": number(int(NOON.timestamp()) + 4 * 3600)}),
        ("-b uts1900000000", {"begin_time": number(1900000000)}),
        ("-b 16:00", {"begin_time": "16:00"}),
        ("-b 4:30PM", {"begin_time": "4:30PM"}),
        ("-b 2031-01-02T03:04:05", {"begin_time": "2031-01-02T03:04:05"}),
        ("-b 01/02/31-10:00", {"begin_time": "01/02/31-10:00"}),
        ("-b tomorrow", {"begin_time": "tomorrow"}),
        ("--deadline=now+2days", {"deadline": int(NOON.timestamp()) + 2 * 86400}),
        ("-H", {"hold": True}),
        ("--requeue", {"requeue": True}),
        ("--no-requeue", {"requeue": False}),
        ("--mail-type=end,TIME_LIMIT_90", {"mail_type": ["END", "TIME=90%"]}),
        ("--mail-type=NONE", {"mail_type": []}),
        ("--mail-user=bob", {"mail_user": "bob"}),
        ("--nice", {"nice": 100}),
        ("--nice=-5", {"nice": -5}),
        ("--priority=10", {"priority": number(10)}),
        ("--reservation=r -L lic", {"reservation": "r", "licenses": "lic"}),
        (
            "--signal=B:USR1@90",
            {
                "kill_warning_signal": "USR1",
                "kill_warning_delay": number(90),
                "kill_warning_flags": ["BATCH_JOB"],
            },
        ),
        (
            "--signal=SIGTERM",
            {
                "kill_warning_signal": "TERM",
                "kill_warning_delay": number(60),
                "kill_warning_flags": [],
            },
        ),
        ("--open-mode=append", {"open_mode": ["APPEND"]}),
        ("--tmp=1G", {"temporary_disk_per_node": 1024}),
        ("--threads-per-core=1", {"threads_per_core": 1}),
        ("--hint=nomultithread", {"threads_per_core": 1}),
        ("--sockets-per-node=1", {"sockets_per_node": 1}),
        ("-B 2", {"sockets_per_node": 2}),
        ("-B *:2", {"cores_per_socket": 2, "tasks": 2}),
        ("-n3 -B 1:2", {"sockets_per_node": 1, "cores_per_socket": 2, "tasks": 3}),
        ("--wckey=w", {"wckey": "w"}),
        ("--switches=2@10", {"required_switches": number(2), "wait_for_switch": 600}),
        ("--contiguous -O", {"contiguous": True, "overcommit": True}),
        ("--delay-boot=5", {"delay_boot": 300}),
        (
            "--kill-on-invalid-dep=yes --spread-job",
            {"flags": ["KILL_INVALID_DEPENDENCY", "SPREAD_JOB"]},
        ),
        ("--use-min-nodes", {"flags": ["PREFER_MINIMUM_NODE_COUNT"]}),
        ("--gres-flags=enforce-binding", {"flags": ["GRES_BINDING_ENFORCED"]}),
        ("--stepmgr", {"flags": ["STEPMGR_ENABLED"]}),
        ("--container=/c --network=n", {"container": "/c", "network": "n"}),
        ("--profile=task", {"profile": ["TASK"]}),
        ("--profile=none", {"profile": ["NONE"]}),
        ("-m block:cyclic", {"distribution": "block:cyclic"}),
        ("--cpu-freq=high", {"cpu_frequency": "high"}),
        ("-S1", {"core_specification": 1}),
        ("-k", {"kill_on_node_fail": False}),
        ("--oom-kill-step", {"oom_kill_step": 1}),
        ("--wait-all-nodes=1", {"wait_all_nodes": True}),
        ("--segment=1", {"segment_size": number(1)}),
        ("--job-name=", {}),
        ("--export=ALL --quiet", {}),
    ],
)
def test_an_option_is_called_so_by_slurmrestd(options: str, expected: dict[str, Any]) -> None:
    assert translated(options) == expected


@pytest.mark.parametrize(
    "options",
    [
        "-N0",
        "-N 4-2",
        "-N x",
        "-n0",
        "-n -4",
        "-n four",
        f"-n {LARGEST + 1}",
        "-c0",
        f"-c {SMALL + 1}",
        "--mem=abc",
        "--mem=-4G",
        "-t -5",
        "-a 5-1",
        "-a a-b",
        "-a 0-10:0",
        "-a 0-3%0",
        "-a 0-3%x",
        "-a ,",
        "-a 0-4000001",
        "-d afterok",
        "-d afterok:x",
        "-d sometime:1",
        "-d afterok:1,afterok:2?afterok:3",
        "-G two",
        "-G a100",
        "-b yesterday-ish",
        "-b 25:99",
        "-b 010231",
        "--exclusive=sometimes",
        "--mail-type=LATER",
        "--signal=B:",
        "--signal=USR1@99999",
        "-w ./hosts",
        "-w w[1-",
        "-B 1:2:3:4",
        "-B x",
        "--switches=1@soon",
        "--requeue=later",
        "--open-mode=sideways",
        f"-J {'x' * 1025}",
        "-J 'a\tb'",
    ],
)
def test_what_slurm_would_misread_is_refused_in_the_persons_words(options: str) -> None:
    with pytest.raises(Invalid) as refusal:
        translated(options)

    assert refusal.value.at == "line 2"
    assert refusal.value.hint
    assert len(refusal.value.detail) < 200


def test_numbers_may_go_as_far_as_slurm_counts() -> None:
    assert translated(f"-n {LARGEST}")["tasks"] == LARGEST
    assert translated(f"-c {SMALL}")["cpus_per_task"] == SMALL
    assert translated(f"-J {'x' * 1024}")["name"] == "x" * 1024


def test_the_largest_array_index_is_one_less_than_the_cluster_says() -> None:
    assert translated("-a 0-1000", max_array=1001) == {"array": "0-1000"}
    with pytest.raises(Invalid, match=r"goes up to 1,001; the largest index here is 1,000") as over:
        translated("-a 0-1001", max_array=1001)
    assert over.value.code == "array-too-large"


def test_every_option_is_translated_ignored_or_refused() -> None:
    for name, option in OPTIONS.items():
        if SAME_AS.get(name, name) in REFUSED:
            continue
        value = None if option.takes is not Takes.VALUE else "1"
        try:
            found = properties(
                [Ask(option=SAME_AS.get(name, name), value=value, at="", said="")], now=NOON
            )
        except Invalid:
            continue
        assert found or name in IGNORED or name in {"export", "hint"}, name

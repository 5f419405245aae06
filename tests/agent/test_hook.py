"""The hook under real shells: it writes what it is told, and never gets in Slurm's way."""

import os
import random
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from clusterra.agent.spool import Spool
from tests.agent.hooks import AT_END, AT_START, a_spool, call, sent

SHELLS = [
    shell
    for shell in (("dash",), ("bash",), ("bash", "--posix"), ("busybox", "sh"))
    if shutil.which(shell[0])
]


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    return a_spool(tmp_path / "spool")


def test_the_start_of_a_job_is_written_down(spool: Spool) -> None:
    assert call(spool.path, **AT_START) == 0

    [event] = sent(spool)
    assert abs(time.time() - spool.notes()[0].nanoseconds / 1e9) < 10
    del event["ts"]
    assert event == {
        "event": "job.allocated",
        "job_id": "41",
        "restarts": "1",
        "name": "align",
        "user": "ana",
        "partition": "main",
        "nodes": "w[1-2]",
        "started_at": "1770458390",
    }


def test_the_end_of_a_job_is_written_down_with_its_state_and_times(spool: Spool) -> None:
    assert call(spool.path, **AT_END) == 0

    [event] = sent(spool)
    assert event["event"] == "job.ended"
    assert (event["state"], event["exit_code"], event["submitted_at"], event["ended_at"]) == (
        *("COMPLETED", "0:0"),
        *("1770458300", "1770458400"),
    )
    assert (event["array_id"], event["array_task"]) == ("40", "3")


@pytest.mark.parametrize(
    ("context", "event"),
    [
        ("prolog_slurmctld", "job.allocated"),
        ("epilog_slurmctld", "job.ended"),
        ("prolog_slurmd", "job.started"),
        ("epilog_slurmd", "job.ended"),
    ],
)
def test_one_program_serves_every_hook(spool: Spool, context: str, event: str) -> None:
    variables = AT_START | {"SLURM_SCRIPT_CONTEXT": context, "SLURMD_NODENAME": "w1"}

    assert call(spool.path, **variables) == 0

    [told] = sent(spool)
    assert (told["event"], told["node"], told.get("state")) == (event, "w1", None)


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    "name",
    [
        'it\'s "quoted" \\ $HOME `id` $(id) %s %d \\0 \\n',
        "one\ntwo\r\nthree\ttab",
        "🐍 ☃ \u202eRTL",
        "-n -e --help",
        "KEY=value",
        "x" * 64_000,
    ],
)
def test_no_name_is_too_odd(spool: Spool, shell: tuple[str, ...], name: str) -> None:
    assert call(spool.path, *shell, **AT_START | {"SLURM_JOB_NAME": name}) == 0

    [event] = sent(spool)
    assert event["name"] == name[:1024]
    assert event["user"] == "ana"


def test_a_name_that_is_not_utf_8_is_replaced_where_it_is_not(spool: Spool) -> None:
    variables = {name.encode(): value.encode() for name, value in AT_START.items()}
    subprocess.run(
        [spool.path / "hook.sh"], env=variables | {b"SLURM_JOB_NAME": b"caf\xe9"}, check=True
    )

    assert sent(spool)[0]["name"] == "caf\ufffd"


def test_nothing_of_the_script_or_the_environment_is_written(spool: Spool) -> None:
    secrets = {
        "SECRET_TOKEN": "hush",
        "SLURM_JOB_STDOUT": "/home/ana/hush",
        "SCRIPT": "hush",
        "WORK_DIR": "/hush",
        "SLURM_JOB_COMMENT": "hush",
    }

    call(spool.path, **AT_START, **secrets)
    call(spool.path, **AT_END, **secrets)

    assert not any(b"hush" in file.read_bytes() for file in spool.new.iterdir())


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("job", ["", "../../escape", "4 1", "41;x", "four"])
def test_a_job_id_that_is_none_leaves_no_trace(
    spool: Spool, shell: tuple[str, ...], job: str
) -> None:
    assert call(spool.path, *shell, **AT_START | {"SLURM_JOB_ID": job}) == 0
    assert call(spool.path, *shell) == 0

    assert spool.notes() == []


@pytest.mark.parametrize("node", ["../w1", "w 1", "w1.lab.org"])
def test_a_node_with_an_odd_name_is_told_all_the_same(spool: Spool, node: str) -> None:
    assert call(spool.path, **AT_START | {"SLURMD_NODENAME": node}) == 0

    assert sent(spool)[0]["node"] == node


def test_a_hundred_at_once_are_a_hundred(spool: Spool) -> None:
    running = [
        subprocess.Popen([spool.path / "hook.sh"], env=AT_START, stderr=subprocess.PIPE)
        for _ in range(100)
    ]

    assert [each.communicate()[1] for each in running] == [b""] * 100
    assert len(spool.notes()) == 100


def test_a_prolog_of_somebodys_own_calls_it_from_anywhere(spool: Spool, tmp_path: Path) -> None:
    prolog = tmp_path / "prolog"
    prolog.write_text(f"#!/bin/sh\nCLUSTERRA_SPOOL={spool.path} {spool.path}/hook.sh\nexit 7\n")
    prolog.chmod(0o755)

    assert subprocess.run([prolog], env=AT_START, check=False).returncode == 7
    assert len(spool.notes()) == 1


# --- bad days


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("missing", ["new", "tmp", "."])
def test_it_ends_well_where_there_is_no_spool(
    spool: Spool, tmp_path: Path, shell: tuple[str, ...], missing: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(spool.path, elsewhere)
    if missing == ".":
        elsewhere = tmp_path / "nowhere"
    else:
        (elsewhere / missing).rmdir()

    assert call(spool.path, *shell, **AT_START, CLUSTERRA_SPOOL=str(elsewhere)) == 0
    assert spool.notes() == []


@pytest.mark.parametrize("shell", SHELLS)
def test_it_ends_well_where_it_may_not_write(spool: Spool, shell: tuple[str, ...]) -> None:
    for directory in (spool.new, spool.tmp, spool.path):
        directory.chmod(0o555)
    stranger = ["setpriv", "--reuid=12345", "--clear-groups"] if os.geteuid() == 0 else []
    for parent in spool.path.parents[:4]:
        parent.chmod(parent.stat().st_mode | 0o055)

    assert call(spool.path, *stranger, *shell, **AT_START) == 0
    assert spool.notes() == []


def test_a_spool_that_is_full_is_left_alone_and_what_is_lost_is_counted(spool: Spool) -> None:
    (spool.path / "full").touch()

    for _ in range(3):
        assert call(spool.path, **AT_START) == 0

    assert spool.notes() == []
    assert spool.tidy() == 3


FULL_DISK = """
mount -t tmpfs -o size=16k none "$1" || exit 77
mkdir "$1/new" "$1/tmp" && echo 1 >"$1/lost" && cp "$2" "$1/hook.sh" || exit 77
cat /dev/zero >"$1/filler" 2>/dev/null
"$1/hook.sh"
code=$?
[ -z "$(cd "$1" && ls new tmp | grep 41)" ] || exit 3
grep -q '[.]' "$1/lost" || exit 4
exit $code
"""


def test_a_full_disk_leaves_no_half_file_and_the_loss_is_counted(
    spool: Spool, tmp_path: Path
) -> None:
    place = tmp_path / "small"
    place.mkdir()
    private = ["unshare", "--user", "--map-root-user", "--mount"]

    done = subprocess.run(
        [*private, "sh", "-c", FULL_DISK, "sh", place, spool.path / "hook.sh"],
        env=AT_START | {"SLURM_JOB_NAME": "x" * 20_000, "PATH": os.environ["PATH"]},
        capture_output=True,
        check=False,
    )

    if done.returncode == 77 or b"unshare failed" in done.stderr:
        pytest.skip("No small disk can be made here.")
    assert (done.returncode, done.stderr) == (0, b"")


def test_hooks_that_are_killed_leave_whole_files_or_a_counted_loss(spool: Spool) -> None:
    chance = random.Random(11)
    for job in range(1, 151):
        variables = AT_START | {"SLURM_JOB_ID": str(job), "SLURM_JOB_NAME": "x" * 30_000}
        hook = subprocess.Popen([spool.path / "hook.sh"], env=variables, start_new_session=True)
        time.sleep(chance.uniform(0, 0.004))
        os.killpg(hook.pid, 9)
        hook.wait()
    long_ago = time.time() - 3600
    left = list(spool.tmp.iterdir())
    for file in left:
        os.utime(file, (long_ago, long_ago))

    lost = spool.tidy()

    events = [each for each in sent(spool) if each["event"] != "collector.gap"]
    assert list(spool.tmp.iterdir()) == []
    assert all(each["name"] == "x" * 1024 for each in events)
    assert len({each["job_id"] for each in events}) == len(events)
    assert lost <= len(left)

"""Building the root file system, with an mmdebstrap of a few lines in its place.

It does to the target directory and prints what the real one does in each case;
the real one takes half a minute and a mirror, and runs in the end-to-end suite.
"""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from clusterra.core.errors import Refused
from clusterra.local.build import BuildFailed
from clusterra.local.rootfs import cached, obtain
from tests.local.telling import Remembering

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(os.geteuid() != 0, reason="builds as root do"),
]

MAKE_TREE = r"""
suite=$(eval "echo \${$(($# - 2))}"); target=$(eval "echo \${$(($# - 1))}")
mkdir -p "$target/usr/lib/x/slurm" "$target/var/lib/dpkg" "$target/etc"
touch "$target/usr/lib/x/slurm/data_parser_v0_0_42.so"
echo "I: running apt-get update..."
"""
FINISH = r"""
printf 'Package: slurmctld\nVersion: 1.2.3-4\n' > "$target/var/lib/dpkg/status"
echo "I: cleaning package lists and apt cache..."
"""


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def replace_mmdebstrap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    program = tmp_path / "bin" / "mmdebstrap"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!/bin/sh\n{script}")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")


def left_in(cache: Path) -> list[str]:
    return sorted(each.name for each in cache.iterdir() if each.name != "lock")


def test_a_build_is_kept_with_its_manifest_and_used_again(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_mmdebstrap(tmp_path, monkeypatch, MAKE_TREE + FINISH)
    teller = Remembering()

    built = obtain(cache, suite=None, given=None, teller=teller)
    again = obtain(cache, suite=None, given=None, teller=teller)

    assert built == again
    assert built.suite == "forky"
    assert teller.finished == ["Slurm 1.2.3 (first time only)"]
    assert teller.percents == sorted(teller.percents)
    assert cached(cache, "forky") is not None


def test_when_the_newest_cannot_be_built_the_stable_one_is_and_it_is_said(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse = '[ "$suite" = trixie ] || { echo "E: no such suite"; exit 1; }\n'
    replace_mmdebstrap(tmp_path, monkeypatch, MAKE_TREE + refuse + FINISH)
    teller = Remembering()

    built = obtain(cache, suite=None, given=None, teller=teller)

    assert built.suite == "trixie"
    assert "E: no such suite" in teller.troubles[0]
    assert "Falling back to Debian trixie" in teller.troubles[0]


def test_a_suite_that_was_asked_for_is_not_replaced(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_mmdebstrap(tmp_path, monkeypatch, MAKE_TREE + 'echo "E: no such suite"; exit 1')

    with pytest.raises(BuildFailed, match="forky could not be built: E: no such suite"):
        obtain(cache, suite="forky", given=None, teller=Remembering())

    assert left_in(cache) == []


def test_a_disk_that_fills_up_while_building_is_named_and_nothing_is_left(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = 'echo "dpkg: error: cannot write: No space left on device"; exit 25'
    replace_mmdebstrap(tmp_path, monkeypatch, MAKE_TREE + full)

    with pytest.raises(Refused, match=r"takes 800 MB in .*, and \d+ MB are free") as refused:
        obtain(cache, suite=None, given=None, teller=Remembering())

    assert not isinstance(refused.value, BuildFailed)
    assert left_in(cache) == []


def test_a_disk_that_is_too_small_is_refused_before_anything_is_written(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_mmdebstrap(tmp_path, monkeypatch, MAKE_TREE + FINISH)
    cache.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=10M", "tmpfs", cache], check=True)
    try:
        with pytest.raises(Refused, match=r"and 10 MB are free there"):
            obtain(cache, suite=None, given=None, teller=Remembering())
    finally:
        subprocess.run(["umount", cache], check=True)


def test_a_killed_build_is_not_mistaken_for_a_finished_one(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_mmdebstrap(tmp_path, monkeypatch, MAKE_TREE + FINISH + "exec sleep 600")
    program = [sys.executable, "-m", "clusterra", "rootfs"]
    environ = os.environ | {"XDG_CACHE_HOME": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(program, env=environ, stdout=subprocess.PIPE) as build:
        assert build.stdout is not None
        while b"cleaning up" not in build.stdout.readline():
            assert build.poll() is None
        os.kill(build.pid, signal.SIGKILL)
    [partial] = (tmp_path / "clusterra").glob("*.partial-*")

    replace_mmdebstrap(tmp_path, monkeypatch, MAKE_TREE + FINISH)
    teller = Remembering()
    built = obtain(tmp_path / "clusterra", suite=None, given=None, teller=teller)

    assert teller.finished == ["Slurm 1.2.3 (first time only)"]
    assert not partial.exists()
    assert (built.path / "var/lib/dpkg/status").exists()


def test_ctrl_c_ends_the_build_and_leaves_nothing(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_mmdebstrap(tmp_path, monkeypatch, MAKE_TREE + FINISH + "exec sleep 600")
    program = [sys.executable, "-m", "clusterra", "rootfs"]
    environ = os.environ | {"XDG_CACHE_HOME": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(program, env=environ, stdout=subprocess.PIPE) as build:
        assert build.stdout is not None
        while b"cleaning up" not in build.stdout.readline():
            assert build.poll() is None
        build.send_signal(signal.SIGINT)
        assert build.wait(timeout=20) == 130

    assert left_in(tmp_path / "clusterra") == []

"""The shared root file system: unpacked once, checked each time, never half there."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from clusterra.core.errors import Invalid, Refused
from clusterra.local.rootfs import Rootfs, digest_of, inspect, obtain
from tests.local.telling import Remembering

STATUS = "Package: slurmctld\nStatus: install ok installed\nVersion: 26.05.5-1\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Hold as little as makes a root file system with Slurm in it."""
    made = tmp_path / "tree"
    plugins = made / "usr/lib/x86_64-linux-gnu/slurm-wlm"
    plugins.mkdir(parents=True)
    for number in (42, 45, 99):
        (plugins / f"data_parser_v0_0_{number}.so").touch()
    (made / "var/lib/dpkg").mkdir(parents=True)
    (made / "var/lib/dpkg/status").write_text(STATUS)
    (made / "etc").mkdir()
    return made


@pytest.fixture
def tarball(tree: Path, tmp_path: Path) -> Path:
    file = tmp_path / "slurm.tar"
    subprocess.run(["tar", "-C", tree, "-cf", file, "."], check=True)
    return file


def from_tarball(cache: Path, tarball: Path) -> tuple[Rootfs, Remembering]:
    teller = Remembering()
    return obtain(cache, suite=None, given=tarball, teller=teller), teller


def test_a_tree_says_which_slurm_it_holds_and_what_we_speak_with_it(tree: Path) -> None:
    rootfs = inspect(tree)

    assert rootfs.slurm == "26.05.5"
    assert rootfs.api_version == "v0.0.45"


def test_a_directory_without_slurm_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="not a root file system with Slurm"):
        inspect(tmp_path)


def test_a_slurm_too_old_to_talk_to_is_refused(tree: Path) -> None:
    for plugin in tree.glob("usr/lib/*/*/*.so"):
        plugin.unlink()

    with pytest.raises(Refused, match=r"v0\.0\.42"):
        inspect(tree)


def test_a_file_is_unpacked_once(tarball: Path, tmp_path: Path) -> None:
    first, told = from_tarball(tmp_path / "cache", tarball)
    again, told_again = from_tarball(tmp_path / "cache", tarball)

    assert first == again
    assert told.finished == ["Slurm 26.05.5 (first time only)"]
    assert told_again.finished == []


def test_other_bytes_are_another_tree(tarball: Path, tree: Path, tmp_path: Path) -> None:
    first, _ = from_tarball(tmp_path / "cache", tarball)
    (tree / "etc/new").touch()
    subprocess.run(["tar", "-C", tree, "-cf", tarball, "."], check=True)

    second, _ = from_tarball(tmp_path / "cache", tarball)

    assert first.path != second.path


def test_a_damaged_tree_is_noticed_said_and_made_again(tarball: Path, tmp_path: Path) -> None:
    kept, _ = from_tarball(tmp_path / "cache", tarball)
    (kept.path / "var/lib/dpkg/status").write_text("cut")

    again, told = from_tarball(tmp_path / "cache", tarball)

    assert "damaged" in told.troubles[0]
    assert (again.path / "var/lib/dpkg/status").read_text() == STATUS


def test_a_tree_without_its_manifest_was_never_finished(tarball: Path, tmp_path: Path) -> None:
    kept, _ = from_tarball(tmp_path / "cache", tarball)
    kept.path.with_name(f"{kept.path.name}.json").unlink()

    _, told = from_tarball(tmp_path / "cache", tarball)

    assert told.finished == ["Slurm 26.05.5 (first time only)"]


def test_a_tree_made_by_an_older_clusterra_is_made_again(tarball: Path, tmp_path: Path) -> None:
    kept, _ = from_tarball(tmp_path / "cache", tarball)
    manifest = kept.path.with_name(f"{kept.path.name}.json")
    content = json.loads(manifest.read_text())
    del content["layout"]
    manifest.write_text(json.dumps(content))

    _, told = from_tarball(tmp_path / "cache", tarball)

    assert "older Clusterra" in told.notes[0]
    assert told.finished == ["Slurm 26.05.5 (first time only)"]


def test_a_kept_tree_holds_no_devices(tree: Path, tarball: Path, tmp_path: Path) -> None:
    (tree / "dev").mkdir()
    (tree / "dev" / "zero").touch()
    subprocess.run(["tar", "-C", tree, "-cf", tarball, "."], check=True)

    kept, _ = from_tarball(tmp_path / "cache", tarball)

    assert list((kept.path / "dev").iterdir()) == []


def test_what_an_interrupted_build_left_is_swept_and_not_used(
    tarball: Path, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    left = cache / "slurm-forky-amd64.partial-1"
    (left / "usr").mkdir(parents=True)

    from_tarball(cache, tarball)

    assert not left.exists()


def test_a_file_that_is_no_archive_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "junk.tar").write_bytes(b"junk" * 1000)
    cache = tmp_path / "cache"

    with pytest.raises(Refused, match="could not be unpacked"):
        obtain(cache, suite=None, given=tmp_path / "junk.tar", teller=Remembering())

    assert [each.name for each in cache.iterdir()] == ["lock"]


def test_a_file_that_is_not_there_is_said_to_be_so(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="No such file"):
        obtain(tmp_path, suite=None, given=tmp_path / "absent.tar", teller=Remembering())


def test_the_digest_notices_names_sizes_and_modes(tree: Path) -> None:
    seen = {digest_of(tree)}
    (tree / "etc/a").write_text("1")
    seen.add(digest_of(tree))
    (tree / "etc/a").write_text("12")
    seen.add(digest_of(tree))
    (tree / "etc/a").chmod(0o600)
    seen.add(digest_of(tree))
    (tree / "etc/a").rename(tree / "etc/b")
    seen.add(digest_of(tree))

    assert len(seen) == 5


def test_the_digest_takes_names_that_are_not_text(tree: Path) -> None:
    (Path(os.fsdecode(os.fsencode(tree) + b"/etc/\xff"))).touch()

    assert digest_of(tree)

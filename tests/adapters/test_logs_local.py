"""Attacks on whoever shows job output: the path is the submitter's to choose, and we may be root."""

import asyncio
import os
from pathlib import Path

import pytest

from clusterra.adapters.logs_local import LocalLogs
from clusterra.core.errors import Refused
from tests.builders import a_job

ANA, BEN = os.getuid(), 54_321


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for each in ("etc", "home/ana", "home/ben", "tmp"):
        (tmp_path / each).mkdir(parents=True)
    (tmp_path / "etc/passwd").write_text(
        f"ana:x:{ANA}:{ANA}::/home/ana:/bin/sh\nben:x:{BEN}:{BEN}::/home/ben:/bin/sh\n"
    )
    (tmp_path / "home/ana/kept").write_bytes(b"secret\n")
    return tmp_path


def read(root: Path, path: str, user: str = "ana") -> bytes | None:
    async def reading() -> bytes | None:
        output = await LocalLogs(root).read(a_job(user=user, stdout=path), tail=100)
        return None if output is None else output.data

    return asyncio.run(reading())


def test_a_persons_own_plain_file_is_read(root: Path) -> None:
    assert read(root, "/home/ana/kept") == b"secret\n"
    assert read(root, "/home/ana/none") is None
    assert read(root, "/home/nobody/none") is None


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "/home/../etc/passwd",
        "/home/ana/../../etc/passwd",
        "/tmp/../etc/passwd",
        "/home",
        "/home/ana",
        "/",
        "",
        "/home/ana/kept\0",
        "relative",
        "/home/ana/kept/more",
    ],
)
def test_nothing_outside_of_home_and_tmp_and_nothing_but_files(root: Path, path: str) -> None:
    with pytest.raises(Refused) as refused:
        read(root, path)
    assert refused.value.code == "output-unreadable"


def test_a_file_of_somebody_else_is_not_read_by_calling_it_ones_own(root: Path) -> None:
    with pytest.raises(Refused, match="does not belong to ben"):
        read(root, "/home/ana/kept", user="ben")
    with pytest.raises(Refused, match="does not belong to stranger"):
        read(root, "/home/ana/kept", user="stranger")


def test_no_link_is_followed_at_any_step(root: Path) -> None:
    (root / "home/ana/file").symlink_to("kept")
    (root / "home/ana/out").symlink_to("/etc/passwd")
    (root / "home/ana/dir").symlink_to(".")
    (root / "tmp/home").symlink_to(root / "home")
    for path in ("/home/ana/file", "/home/ana/out", "/home/ana/dir/kept", "/tmp/home/ana/kept"):
        with pytest.raises(Refused):
            read(root, path)


def test_a_hard_link_to_anothers_file_is_anothers_file(root: Path) -> None:
    os.link(root / "home/ana/kept", root / "home/ben/mine.out")

    with pytest.raises(Refused, match="does not belong to ben"):
        read(root, "/home/ben/mine.out", user="ben")


def test_pipes_and_devices_are_neither_read_nor_waited_for(root: Path) -> None:
    os.mkfifo(root / "home/ana/pipe")
    with pytest.raises(Refused, match="not a plain file"):
        read(root, "/home/ana/pipe")
    if os.geteuid() == 0:
        os.mknod(root / "home/ana/zero", 0o20666, os.makedev(1, 5))
        with pytest.raises(Refused, match=r"not a plain file|No such device|Permission"):
            read(root, "/home/ana/zero")


def test_a_file_exchanged_for_a_link_while_it_is_open_stays_what_it_was(root: Path) -> None:
    async def story() -> None:
        logs, job = LocalLogs(root), a_job(user="ana", stdout="/home/ana/kept")
        log = await logs.open(job)
        assert log is not None
        (root / "home/ana/kept").unlink()
        (root / "home/ana/kept").symlink_to(root / "etc/passwd")

        assert (await log.read(0, 100)).data == b"secret\n"
        with pytest.raises(Refused):
            await logs.open(job)
        log.close()

    asyncio.run(story())


def test_the_end_of_ten_gigabytes_is_read_without_the_rest(root: Path) -> None:
    with (root / "home/ana/huge").open("wb") as file:
        file.truncate(10 << 30)
        file.seek(0, 2)
        file.write(b"\nlast line\n")

    assert read(root, "/home/ana/huge") == b"\0" * 89 + b"\nlast line\n"

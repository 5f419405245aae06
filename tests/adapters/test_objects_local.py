"""A directory whose owner's jobs do as they like in it, while the server may be root.

Whatever a person plants in their own room, nothing outside it is read, written or removed.
"""

import asyncio
import os
import secrets
import shutil
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from clusterra.adapters.memory import ManualClock
from clusterra.adapters.objects_local import LocalObjects
from clusterra.adapters.objects_local.intake import FileIntake
from clusterra.core.errors import ClusterraError, Conflict, Forbidden, NotFound
from clusterra.ports import Cargo
from tests.builders import NOON
from tests.objects import cargo

ROOM = "ana@lab.example"
OTHER = "ben@lab.example"
SECRET = b"the secret of ben"

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")


@pytest.fixture
def objects(tmp_path: Path) -> LocalObjects:
    made = LocalObjects(
        tmp_path / "efs",
        tmp_path / "private",
        path="/v1/objects/lab",
        secret=secrets.token_bytes(32),
        clock=ManualClock(NOON),
        seen_at="/mnt/efs",
    )
    root = os.geteuid() == 0
    for room, uid in ((ROOM, 20001), (OTHER, 20002)):
        asyncio.run(made.make_room(room, uid if root else None))
    return made


@pytest.fixture
def room(objects: LocalObjects, tmp_path: Path) -> Path:
    return tmp_path / "efs" / ROOM


async def _pieces(data: bytes) -> AsyncIterator[bytes]:
    yield data


async def put(objects: LocalObjects, key: str, data: bytes = b"mine", **more: Any) -> None:
    await objects.put(key, _pieces(data), cargo(data, **more))


def secret(tmp_path: Path) -> Path:
    made = tmp_path / "shadow"
    made.write_bytes(SECRET)
    return made


Act = Callable[[LocalObjects, str], Awaitable[Any]]
READS: list[Act] = [
    lambda objects, key: objects.presign_get(key),
    lambda objects, key: asyncio.to_thread(objects.opened, key, ""),
    lambda objects, key: objects.copy(key, f"{ROOM}/data/copy"),
    lambda objects, key: objects.move(key, f"{ROOM}/data/copy"),
    lambda objects, key: anext(objects.read(key)),
]


@pytest.mark.parametrize("act", range(len(READS)))
@pytest.mark.parametrize("where", ["file", "folder"])
def test_a_link_out_of_the_room_is_not_followed(
    objects: LocalObjects, room: Path, tmp_path: Path, act: int, where: str
) -> None:
    shadow = secret(tmp_path)
    (room / "outputs/result").symlink_to(shadow)
    (room / "outputs/dir").symlink_to(tmp_path)
    key = f"{ROOM}/outputs/{'result' if where == 'file' else 'dir/shadow'}"

    with pytest.raises(NotFound):
        asyncio.run(READS[act](objects, key))  # type: ignore[arg-type]

    assert asyncio.run(objects.stat(key)) is None
    assert not (room / "data/copy").exists()
    assert shadow.read_bytes() == SECRET


def test_links_are_neither_listed_nor_counted(
    objects: LocalObjects, room: Path, tmp_path: Path
) -> None:
    (room / "outputs/result").symlink_to(secret(tmp_path))
    (room / "outputs/dir").symlink_to(tmp_path)

    listing = asyncio.run(objects.list(f"{ROOM}/outputs/"))

    assert (list(listing.files), list(listing.folders)) == ([], [])
    assert asyncio.run(objects.list(f"{ROOM}/outputs/dir/")).files == ()
    assert asyncio.run(objects.used(f"{ROOM}/")).files == 0


def test_a_file_put_where_a_link_is_replaces_the_link_and_not_what_it_points_to(
    objects: LocalObjects, room: Path, tmp_path: Path
) -> None:
    shadow = secret(tmp_path)
    (room / "data/x").symlink_to(shadow)

    asyncio.run(put(objects, f"{ROOM}/data/x"))

    assert shadow.read_bytes() == SECRET
    assert not (room / "data/x").is_symlink()
    assert (room / "data/x").read_bytes() == b"mine"


def test_nothing_is_put_through_a_link_to_a_folder(
    objects: LocalObjects, room: Path, tmp_path: Path
) -> None:
    (tmp_path / "etc").mkdir()
    (room / "data/dir").symlink_to(tmp_path / "etc")
    (room / "outputs").rmdir()
    (room / "outputs").symlink_to(tmp_path / "etc")

    for key in (f"{ROOM}/data/dir/passwd", f"{ROOM}/outputs/passwd", f"{ROOM}/outputs/a/b"):
        with pytest.raises(Conflict):
            asyncio.run(put(objects, key))

    assert list((tmp_path / "etc").iterdir()) == []


def test_deleting_a_link_leaves_what_it_points_to(
    objects: LocalObjects, room: Path, tmp_path: Path
) -> None:
    shadow = secret(tmp_path)
    (room / "data/x").symlink_to(shadow)
    (room / "data/dir").symlink_to(tmp_path)

    assert asyncio.run(objects.delete(f"{ROOM}/data/dir/shadow")) is False
    asyncio.run(objects.delete(f"{ROOM}/data/x"))

    assert shadow.exists()


def test_a_pipe_holds_up_nobody(objects: LocalObjects, room: Path) -> None:
    os.mkfifo(room / "outputs/pipe")
    if os.geteuid() == 0:
        os.chown(room / "outputs/pipe", 20001, 20001)

    with pytest.raises(NotFound):
        asyncio.run(objects.presign_get(f"{ROOM}/outputs/pipe"))


@as_root
def test_anothers_file_under_a_name_of_ones_own_is_not_there(
    objects: LocalObjects, room: Path, tmp_path: Path
) -> None:
    """A second name of somebody else's file, where the system lets people make one."""
    asyncio.run(put(objects, f"{OTHER}/data/x", SECRET))
    os.link(tmp_path / "efs" / OTHER / "data/x", room / "outputs/x")

    with pytest.raises(NotFound):
        asyncio.run(objects.presign_get(f"{ROOM}/outputs/x"))
    assert not asyncio.run(objects.list(f"{ROOM}/outputs/")).files


@as_root
def test_what_is_put_belongs_to_the_person_and_the_rooms_are_closed(
    objects: LocalObjects, room: Path, tmp_path: Path
) -> None:
    asyncio.run(put(objects, f"{ROOM}/data/deep/er/x"))
    asyncio.run(put(objects, "shared/ref/x"))

    for below in ("data", "data/deep", "data/deep/er", "data/deep/er/x", "scripts", "outputs"):
        assert (room / below).stat().st_uid == 20001, below
    assert (room.stat().st_mode & 0o777, room.stat().st_uid) == (0o700, 20001)
    assert room.parent.stat().st_mode & 0o777 == 0o711
    shared = tmp_path / "efs/shared/ref/x"
    assert (shared.stat().st_uid, shared.stat().st_mode & 0o777) == (0, 0o644)
    assert (room / "shared" / "ref/x").resolve() == shared.resolve()
    assert (tmp_path / "private").stat().st_mode & 0o077 == 0 or os.geteuid() == 0


@as_root
def test_a_room_that_many_make_at_once_is_its_owners_all_of_it(
    objects: LocalObjects, tmp_path: Path
) -> None:
    """A person's first jobs come together, each with the room that it needs."""
    rooms = [f"p{n}@lab.example" for n in range(40)]

    async def crowd() -> None:
        for room in rooms:
            await asyncio.gather(*(objects.make_room(room, 20007) for _ in range(8)))

    asyncio.run(crowd())

    for name in rooms:
        made = tmp_path / "efs" / name
        owners = {
            each.name: each.stat().st_uid
            for each in (made, *made.iterdir())
            if each.name != "shared"
        }
        assert set(owners.values()) == {20007}, owners


@as_root
def test_a_room_that_was_left_half_made_is_finished(objects: LocalObjects, tmp_path: Path) -> None:
    left = tmp_path / "efs" / "dina@lab.example"
    (left / "outputs").mkdir(mode=0o700, parents=True)

    asyncio.run(objects.make_room(left.name, 20009))

    for each in (left, left / "outputs", left / "data", left / "scripts"):
        assert each.stat().st_uid == 20009, each


@as_root
def test_what_stands_in_the_place_of_a_folder_is_left_to_its_owner(
    objects: LocalObjects, room: Path, tmp_path: Path
) -> None:
    (tmp_path / "ours").mkdir()
    (room / "outputs").rmdir()
    (room / "outputs").symlink_to(tmp_path / "ours")

    asyncio.run(objects.make_room(ROOM, 20001))

    assert (room / "outputs").is_symlink()
    assert (tmp_path / "ours").stat().st_uid == 0


def test_a_checksum_is_forgotten_when_a_job_writes_to_the_file(
    objects: LocalObjects, room: Path
) -> None:
    asyncio.run(put(objects, f"{ROOM}/data/x", b"mine"))
    before = asyncio.run(objects.stat(f"{ROOM}/data/x"))

    (room / "data/x").write_bytes(b"evil")
    after = asyncio.run(objects.stat(f"{ROOM}/data/x"))

    assert before is not None
    assert after is not None
    assert before.sha256 == cargo(b"mine").sha256
    assert after.sha256 == ""


def test_what_a_job_wrote_beside_the_locations_is_not_reached_through_them(
    objects: LocalObjects, room: Path
) -> None:
    (room / "beside").write_bytes(b"x")

    assert not asyncio.run(objects.list(f"{ROOM}/data/")).files


def test_what_was_arriving_when_the_server_ended_is_swept_away(
    objects: LocalObjects, tmp_path: Path
) -> None:
    intake = objects.intake(f"{ROOM}/data/x", Cargo(size=5, sha256="0" * 64))
    asyncio.run(intake.write(b"12"))
    assert list((tmp_path / "private/arriving").iterdir())

    LocalObjects(
        tmp_path / "efs",
        tmp_path / "private",
        path="",
        secret=b"x" * 32,
        clock=ManualClock(NOON),
    )

    assert not list((tmp_path / "private/arriving").iterdir())
    assert asyncio.run(objects.stat(f"{ROOM}/data/x")) is None
    asyncio.run(intake.drop())


def test_a_folder_that_is_swapped_for_a_link_all_the_time_never_lets_anything_out(
    objects: LocalObjects, room: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x").write_bytes(SECRET)
    folder, aside, link = room / "data/d", room / "data/aside", room / "data/link"
    folder.mkdir()
    link.symlink_to(outside)
    over = threading.Event()

    def swap() -> None:
        while not over.is_set():
            # The server makes what it finds missing, so each of these may be in the way.
            shutil.rmtree(aside, ignore_errors=True)
            for old, new in ((folder, aside), (link, folder), (folder, link), (aside, folder)):
                with suppress(OSError):
                    old.rename(new)
            if not link.is_symlink() and not folder.is_symlink():
                shutil.rmtree(link, ignore_errors=True)
                link.symlink_to(outside)

    swapping = threading.Thread(target=swap)
    swapping.start()
    try:
        for _ in range(150):
            for act in (
                put(objects, f"{ROOM}/data/d/x"),
                put(objects, f"{ROOM}/data/d/new"),
                objects.delete(f"{ROOM}/data/d/x"),
            ):
                try:
                    asyncio.run(act)
                except ClusterraError:
                    continue
            found = asyncio.run(objects.list(f"{ROOM}/data/d/"))
            assert all(each.size != len(SECRET) for each in found.files)
    finally:
        over.set()
        swapping.join()

    assert [each.name for each in outside.iterdir()] == ["x"]
    assert (outside / "x").read_bytes() == SECRET


def test_a_link_of_another_secret_or_cluster_is_not_ours(objects: LocalObjects) -> None:
    async def story() -> None:
        await put(objects, f"{ROOM}/data/x")
        link = await objects.presign_get(f"{ROOM}/data/x")
        ticket = link.url.rpartition("/")[2]

        await objects.desk.hand_out(ticket, "GET")
        objects._secret = b"another"
        with pytest.raises(Forbidden):
            await objects.desk.hand_out(ticket, "GET")

    asyncio.run(story())


def test_an_upload_that_is_given_up_while_it_is_written_touches_no_other_file(
    objects: LocalObjects, tmp_path: Path
) -> None:
    """The thread that writes goes on for a moment, when the number of its file may be another's."""

    async def story() -> None:
        data = b"x" * (8 << 20)
        for number in range(30):
            intake = objects.intake(f"{ROOM}/data/x", cargo(data))
            writing = asyncio.ensure_future(_all(intake, data))
            await asyncio.sleep(0)
            writing.cancel()
            await intake.drop()
            (tmp_path / f"other{number}").write_bytes(b"mine")

    asyncio.run(story())

    assert {each.read_bytes() for each in tmp_path.glob("other*")} == {b"mine"}
    assert not list((tmp_path / "private/arriving").iterdir())


async def _all(intake: FileIntake, data: bytes) -> None:
    for start in range(0, len(data), 1 << 18):
        await intake.write(data[start : start + (1 << 18)])
    await intake.finish()

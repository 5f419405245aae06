"""Walk below a directory that its owner's jobs may change at any moment.

This process may be root, and whoever owns a room may plant links in it while we walk. So
every step is taken from the directory before it, none follows a link, and only plain files
are read that belong to whoever owns the room. What is made there is given to them.

A key is `room/…`: the first part is made by us alone, in a directory nobody else writes to,
and whose it is tells whose all below it is.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from clusterra.core.errors import Conflict, NotFound, Refused

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Gone(Exception):
    """There is nothing of that name, or nothing that may be touched."""


@contextmanager
def folder(root: Path, parts: list[str], *, make: bool = False) -> Iterator[tuple[int, int]]:
    """Open the folder that these parts lead to, and say to whom it belongs. Raises Gone."""
    at = os.open(root, _DIRECTORY)
    owner = os.geteuid()
    try:
        for depth, part in enumerate(parts):
            inner = _step(at, part, owner, make=make and depth > 0)
            os.close(at)
            at = inner
            if depth == 0:
                owner = os.fstat(at).st_uid
        yield at, owner
    finally:
        os.close(at)


def _step(at: int, part: str, owner: int, *, make: bool) -> int:
    try:
        return os.open(part, _DIRECTORY, dir_fd=at)
    except FileNotFoundError:
        if not make:
            raise Gone from None
    except NotADirectoryError:
        # A plain file, or a link: whatever it points to is not for us to go to.
        if make:
            raise Conflict(
                f"{part!r} is not a folder.", hint="Name another path.", code="not-a-folder"
            ) from None
        raise Gone from None
    make_folder(at, part, owner)
    try:
        return os.open(part, _DIRECTORY, dir_fd=at)
    except OSError:
        raise Gone from None


def make_folder(at: int, name: str, owner: int, mode: int = 0o755) -> None:
    """Make a folder for somebody.

    One that is there stays as it is, unless it is still our own: whoever made it has not come to
    hand it over yet, or never will. Without that, of two who make a room at once the second
    would take it for ours, and so would be all that it puts there.
    """
    try:
        os.mkdir(name, mode, dir_fd=at)
        new = True
    except FileExistsError:
        new = False
    try:
        opened = os.open(name, _DIRECTORY, dir_fd=at)
    except NotADirectoryError:
        return  # a file or a link: whoever put it there has it
    try:
        if new:
            os.fchmod(opened, mode)
        give(opened, owner)
    finally:
        os.close(opened)


def give(descriptor: int, owner: int) -> None:
    """Hand something that is ours, since we made it, to whoever owns the room."""
    if os.geteuid() == 0 and owner and os.fstat(descriptor).st_uid == 0:
        os.fchown(descriptor, owner, owner)


def open_file(root: Path, key: str) -> int:
    """Open a plain file of the room's owner. Raises Gone."""
    *folders, name = key.split("/")
    with folder(root, folders) as (at, owner):
        return open_in(at, name, owner)


def open_in(at: int, name: str, owner: int) -> int:
    """Open a plain file of this owner in a folder. Raises Gone."""
    try:
        opened = os.open(name, _FILE, dir_fd=at)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        raise Gone from None
    except OSError:  # a link (ELOOP), a socket (ENXIO)
        raise Gone from None
    found = os.fstat(opened)
    if not stat.S_ISREG(found.st_mode) or found.st_uid != owner:
        os.close(opened)
        raise Gone
    return opened


def is_plain(found: os.stat_result, owner: int) -> bool:
    return stat.S_ISREG(found.st_mode) and found.st_uid == owner


def put_in_place(made: str, root: Path, key: str, descriptor: int) -> None:
    """Give a finished file to whoever it is for, and let it be seen; what was there is replaced.

    A link of that name is replaced too, and not followed.
    """
    *folders, name = key.split("/")
    try:
        with folder(root, folders, make=True) as (at, owner):
            os.fchmod(descriptor, 0o644)
            give(descriptor, owner)
            os.rename(made, name, dst_dir_fd=at)
            os.fsync(at)
    except Gone:
        raise no_room(key) from None
    except IsADirectoryError:
        raise Conflict(
            f"{name!r} is a folder.", hint="Name another path.", code="is-a-folder"
        ) from None


def forget_empty(root: Path, folders: list[str]) -> None:
    """Remove folders that have become empty, from the inside out; not the location itself."""
    for depth in range(len(folders), 2, -1):
        try:
            with folder(root, folders[: depth - 1]) as (at, _):
                os.rmdir(folders[depth - 1], dir_fd=at)
        except (Gone, OSError):
            return


def no_room(key: str) -> Refused:
    return Refused(
        f"There is no place for files of {key.partition('/')[0]} on this cluster.",
        hint="It is made with the person's Linux user; ask whoever runs the server.",
        code="no-storage",
    )


def no_such_file(key: str) -> NotFound:
    path = key.partition("/")[2]
    return NotFound(
        f"There is no file {path}.",
        hint="`clusterra files ls` shows what there is.",
        code="file-not-found",
    )

"""The rooms of people, each with its locations, and the shared one that all of them lead to.

The directory of all rooms can be walked through and not listed: nobody learns who else is there.
A room is its owner's alone, so that jobs may also write beside the locations.
"""

import os
from contextlib import suppress
from pathlib import Path

from clusterra.adapters.objects_local import tree
from clusterra.core.files.place import OWN

SHARED = "shared"


def make_rooms(root: Path) -> None:
    root.mkdir(parents=True, exist_ok=True)
    root.chmod(0o711)
    (root / SHARED).mkdir(mode=0o755, exist_ok=True)
    (root / SHARED).chmod(0o755)


def make_room(root: Path, name: str, uid: int | None) -> None:
    """Make somebody's room, or what is missing of it. It stays theirs."""
    top = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        tree.make_folder(top, name, os.geteuid() if uid is None else uid, 0o700)
    finally:
        os.close(top)
    with tree.folder(root, [name]) as (room, owner):
        for each in OWN:
            tree.make_folder(room, each.value, owner, 0o755)
        with suppress(FileExistsError):
            os.symlink(f"../{SHARED}", SHARED, dir_fd=room)

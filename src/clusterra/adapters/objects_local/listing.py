"""What lies in a folder, and how much lies below one; links and others' files are not there."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

from clusterra.adapters.objects_local import tree
from clusterra.ports import Listing, Stored, Used


def list_folder(
    root: Path,
    prefix: str,
    *,
    after: str,
    limit: int,
    stored: Callable[[str, os.stat_result], Stored],
) -> Listing:
    parts = [part for part in prefix.split("/") if part]
    folders, files = [], []
    try:
        with tree.folder(root, parts) as (at, owner):
            names = sorted(_names(at, owner, top=not parts))
            begin = next((n for n, name in enumerate(names) if name > after), len(names))
            page = names[begin : begin + limit]
            for name in page:
                if name.endswith("/"):
                    folders.append(f"{prefix}{name}")
                elif found := _plain(at, name, owner):
                    files.append(stored(f"{prefix}{name}", found))
            more = begin + limit < len(names)
    except tree.Gone:
        return Listing(folders=(), files=())
    return Listing(folders=folders, files=files, next=page[-1] if more else "")


def _names(at: int, owner: int, *, top: bool) -> list[str]:
    """Return the names in a folder, those of folders with a slash at the end."""
    found = []
    with os.scandir(at) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                found.append(f"{entry.name}/")
            elif not top and tree.is_plain(entry.stat(follow_symlinks=False), owner):
                found.append(entry.name)
    return [name for name in found if _is_text(name)]


def _is_text(name: str) -> bool:
    """Say whether a name can be told at all; jobs may have made one of any bytes."""
    return name.isprintable()


def _plain(at: int, name: str, owner: int) -> os.stat_result | None:
    try:
        found = os.stat(name, dir_fd=at, follow_symlinks=False)
    except OSError:  # gone since it was listed
        return None
    return found if tree.is_plain(found, owner) else None


def used_below(root: Path, prefix: str) -> Used:
    parts = [part for part in prefix.split("/") if part]
    count = size = 0
    try:
        with tree.folder(root, parts) as (at, owner):
            for _, _, names, inner in os.fwalk(".", dir_fd=at, follow_symlinks=False):
                for name in names:
                    found = _plain(inner, name, owner)
                    if found is not None and stat.S_ISREG(found.st_mode):
                        count, size = count + 1, size + found.st_size
    except tree.Gone:
        pass
    return Used(files=count, bytes=size)

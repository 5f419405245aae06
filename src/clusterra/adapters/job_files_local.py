"""What jobs leave on a file system that this process can see.

A path was chosen by whoever declared it, and this process may be root: so it is walked one step at
a time, no link is followed, and only plain files count that belong to whoever the job ran as.
"""

import asyncio
import os
import stat
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path, PurePosixPath

from clusterra.adapters.passwd import uid_of
from clusterra.core.errors import NotFound
from clusterra.ports import Found

PLACES = frozenset({"home", "mnt", "tmp"})
MOST = 1_000
"""Files that one pattern finds."""

DEEPEST = 8
"""How far down the folders of a declared folder are looked into."""

_PIECE = 1 << 20
_STEP = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC


class LocalJobFiles:
    def __init__(self, root: Path, *, single_user: bool = False) -> None:
        self._root = root
        self._single_user = single_user
        """All files are one user's, and there is nobody to keep them from."""

    async def find(self, user: str, pattern: str) -> list[Found]:
        return await asyncio.to_thread(self._find, user, pattern)

    async def read(self, user: str, path: str) -> AsyncIterator[bytes]:
        descriptor = await asyncio.to_thread(self._open, user, path)
        with os.fdopen(descriptor, "rb") as opened:
            while piece := await asyncio.to_thread(opened.read, _PIECE):
                yield piece

    def _find(self, user: str, pattern: str) -> list[Found]:
        folder, _, last = pattern.rpartition("/")
        uid = uid_of(self._root, user)
        try:
            with self._folder(folder) as at:
                found = (
                    Found(path=f"{folder}/{inner}", size=size, name=inner)
                    for name in sorted(self._names(at, last))
                    for inner, size in self._below(at, name, uid, DEEPEST)
                )
                return list(islice(found, MOST))
        except OSError:
            return []

    def _below(self, at: int, name: str, uid: int | None, depth: int) -> Iterator[tuple[str, int]]:
        """Yield the plain files that a name leads to, each with its size; no link is followed."""
        found = _looked_at(at, name)
        if found is None:
            return
        if self._is_theirs(found, uid):
            yield name, found.st_size
        if not stat.S_ISDIR(found.st_mode) or not depth:
            return
        try:
            inside = os.open(name, _STEP | os.O_DIRECTORY, dir_fd=at)
        except OSError:
            return
        try:
            with os.scandir(inside) as entries:
                names = sorted(each.name for each in entries if each.name.isprintable())
            for each in names[:MOST]:
                for inner, size in self._below(inside, each, uid, depth - 1):
                    yield f"{name}/{inner}", size
        finally:
            os.close(inside)

    def _names(self, at: int, last: str) -> Iterator[str]:
        if "*" not in last and "?" not in last:
            yield last
            return
        # A bracket is a letter here: only these two signs have a meaning.
        pattern = last.replace("[", "[[]")
        with os.scandir(at) as entries:
            for entry in entries:
                if fnmatchcase(entry.name, pattern) and entry.name.isprintable():
                    yield entry.name

    def _open(self, user: str, path: str) -> int:
        folder, _, name = path.rpartition("/")
        try:
            with self._folder(folder) as at:
                opened = os.open(name, _STEP | os.O_NONBLOCK, dir_fd=at)
        except OSError:
            raise _gone(path) from None
        if not self._is_theirs(os.fstat(opened), uid_of(self._root, user)):
            os.close(opened)
            raise _gone(path)
        return opened

    @contextmanager
    def _folder(self, path: str) -> Iterator[int]:
        """Open a folder of the cluster's file system. Raises OSError."""
        steps = PurePosixPath(path).parts
        if steps[:1] != ("/",) or len(steps) < 2 or ".." in steps or steps[1] not in PLACES:
            raise FileNotFoundError(path)
        at = os.open(self._root, _STEP | os.O_DIRECTORY)
        try:
            for step in steps[1:]:
                inner = os.open(step, _STEP | os.O_DIRECTORY, dir_fd=at)
                os.close(at)
                at = inner
            yield at
        finally:
            os.close(at)

    def _is_theirs(self, found: os.stat_result, uid: int | None) -> bool:
        return stat.S_ISREG(found.st_mode) and (self._single_user or found.st_uid == uid)


def _looked_at(at: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=at, follow_symlinks=False)
    except OSError:
        return None


def _gone(path: str) -> NotFound:
    return NotFound(
        f"There is no file {path} of theirs.",
        hint="Only plain files count that belong to whoever the job ran as.",
        code="file-not-found",
    )

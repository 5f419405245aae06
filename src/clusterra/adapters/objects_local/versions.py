"""Earlier contents of a key, kept where no job reaches them."""

import hashlib
import os
import re
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from clusterra.ports import Stored

MOST = 100
"""Versions of one key; the oldest go first."""

_NAME = re.compile(r"([0-9]{8})-([0-9a-f]{64})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    number: int
    sha256: str
    path: Path


class Versions:
    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def keep(self, key: str, descriptor: int, sha256: str) -> None:
        """Keep a copy of what was put; the same as before is no new version."""
        there = self._of(key)
        if there and there[-1].sha256 == sha256:
            return
        number = there[-1].number + 1 if there else 1
        place = self._place(key)
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        beside = place / f".new-{os.getpid()}-{number}"
        with beside.open("wb") as copy, os.fdopen(os.dup(descriptor), "rb") as original:
            original.seek(0)
            shutil.copyfileobj(original, copy)
        beside.replace(place / f"{number:08}-{sha256}")
        for old in there[: max(len(there) + 1 - MOST, 0)]:
            old.path.unlink(missing_ok=True)

    def all_of(self, key: str) -> list[Stored]:
        """Return the versions of a key, newest first."""
        return [self._stored(key, each) for each in reversed(self._of(key))]

    def find(self, key: str, version: str) -> Version | None:
        return next((each for each in self._of(key) if f"{each.number}" == version), None)

    def stored(self, key: str, version: str) -> Stored | None:
        found = self.find(key, version)
        return self._stored(key, found) if found else None

    def _stored(self, key: str, version: Version) -> Stored:
        found = version.path.stat()
        return Stored(
            key=key,
            size=found.st_size,
            modified_at=datetime.fromtimestamp(found.st_mtime, UTC),
            sha256=version.sha256,
            version=f"{version.number}",
        )

    def _of(self, key: str) -> list[Version]:
        """Return the versions of a key, oldest first."""
        try:
            names = sorted(each.name for each in self._place(key).iterdir())
        except FileNotFoundError:
            return []
        return [
            Version(number=int(named[1]), sha256=named[2], path=self._place(key) / named[0])
            for name in names
            if (named := _NAME.fullmatch(name))
        ]

    def _place(self, key: str) -> Path:
        return self._directory / hashlib.sha256(key.encode()).hexdigest()

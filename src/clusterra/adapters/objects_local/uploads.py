"""Files that come in parts: each part goes straight to its place in one file, and is noted when it
is there whole, so that whoever is cut off goes on with what is missing."""

import os
import re
import secrets
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from clusterra.adapters.objects_local.intake import FileIntake
from clusterra.core.errors import Conflict, NotFound
from clusterra.ports import Cargo, Part

_ID = re.compile(r"[0-9a-f]{32}")


class Begun(msgspec.Struct, frozen=True, kw_only=True):
    key: str
    cargo: Cargo
    part_size: int

    @property
    def count(self) -> int:
        return -(-self.cargo.size // self.part_size)

    def size_of(self, number: int) -> int:
        return min(self.part_size, self.cargo.size - (number - 1) * self.part_size)


class Uploads:
    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def begin(self, begun: Begun) -> str:
        id = secrets.token_hex(16)
        place = self._directory / id
        (place / "parts").mkdir(mode=0o700, parents=True)
        with (place / "data").open("wb") as data:
            data.truncate(begun.cargo.size)
        (place / "begun").write_bytes(msgspec.json.encode(begun))
        return id

    def begun(self, key: str, id: str) -> Begun:
        """Return what was begun under this id; raise NotFound unless it is of this key."""
        try:
            found = msgspec.json.decode((self._place(id) / "begun").read_bytes(), type=Begun)
        except FileNotFoundError:
            raise _over() from None
        if found.key != key:
            raise _over()
        return found

    def intake(self, key: str, id: str, part: Part) -> FileIntake:
        begun = self.begun(key, id)
        if not 1 <= part.number <= begun.count or part.size != begun.size_of(part.number):
            raise Conflict(
                f"Part {part.number} of {part.size:,} bytes is none of this upload.",
                hint=f"It has {begun.count} parts of {begun.part_size:,} bytes.",
                code="wrong-part",
            )
        note = self._place(id) / "parts" / f"{part.number}"
        # What is there of an earlier try no longer counts once we begin to write over it.
        note.unlink(missing_ok=True)
        beside = note.with_name(f".{part.number}-{secrets.token_hex(4)}")

        def done(sha256: str) -> None:
            beside.write_text(sha256)
            beside.replace(note)

        return FileIntake(
            os.open(self._place(id) / "data", os.O_WRONLY | os.O_CLOEXEC),
            size=part.size,
            sha256=part.sha256,
            offset=(part.number - 1) * begun.part_size,
            done=done,
            dropped=lambda: None,
        )

    def parts(self, key: str, id: str) -> list[Part]:
        begun = self.begun(key, id)
        found = []
        for note in (self._place(id) / "parts").iterdir():
            if note.name.isdecimal():
                number = int(note.name)
                size = begun.size_of(number)
                found.append(Part(number=number, size=size, sha256=note.read_text()))
        return sorted(found, key=lambda part: part.number)

    def complete(self, key: str, id: str, done: Callable[[Path, int, Cargo], None]) -> None:
        """Hand the whole file to `done`; raise Conflict if a part is missing."""
        begun = self.begun(key, id)
        there = {part.number for part in self.parts(key, id)}
        if missing := [each for each in range(1, begun.count + 1) if each not in there]:
            raise Conflict(
                f"{len(missing)} of {begun.count} parts are missing, the first is {missing[0]}.",
                hint="Send them, then complete it.",
                code="parts-missing",
            )
        data = self._place(id) / "data"
        descriptor = os.open(data, os.O_RDWR | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
            done(data, descriptor, begun.cargo)
        finally:
            os.close(descriptor)
        shutil.rmtree(self._place(id), ignore_errors=True)

    def abort(self, key: str, id: str) -> None:
        with suppress(NotFound):
            self.begun(key, id)
            shutil.rmtree(self._place(id), ignore_errors=True)

    def _place(self, id: str) -> Path:
        if not _ID.fullmatch(id):
            raise _over()
        return self._directory / id


def _over() -> NotFound:
    return NotFound(
        "There is no such upload: it was completed, aborted, or never begun.",
        hint="Begin it again: POST …/storage/presigned-url",
        code="upload-not-found",
    )

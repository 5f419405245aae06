"""What we know of a file beyond what its file system does: its checksum and its type.

Kept beside the rooms, where no job reaches it, and believed only as long as the file is the very
one that it was noted of: a job that writes to it makes it unknown.
"""

import hashlib
import os
from contextlib import suppress
from pathlib import Path

import msgspec


class Note(msgspec.Struct, array_like=True, frozen=True):
    inode: int
    size: int
    modified_ns: int
    sha256: str
    content_type: str


class Known:
    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def note(self, key: str, found: os.stat_result, sha256: str, content_type: str) -> None:
        file = self._file(key)
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        note = Note(found.st_ino, found.st_size, found.st_mtime_ns, sha256, content_type)
        beside = file.with_suffix(f".{os.getpid()}")
        beside.write_bytes(msgspec.json.encode(note))
        beside.replace(file)

    def of(self, key: str, found: os.stat_result) -> Note | None:
        try:
            note = msgspec.json.decode(self._file(key).read_bytes(), type=Note)
        except (OSError, msgspec.MsgspecError):
            return None
        same = (note.inode, note.size, note.modified_ns)
        return note if same == (found.st_ino, found.st_size, found.st_mtime_ns) else None

    def forget(self, key: str) -> None:
        with suppress(FileNotFoundError):
            self._file(key).unlink()

    def _file(self, key: str) -> Path:
        digest = hashlib.sha256(key.encode()).hexdigest()
        return self._directory / digest[:2] / digest[2:]

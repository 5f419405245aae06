"""The directory between hooks that must not wait and a server that may be away.

    hook.sh   the hook, which writes into the directory it lies in
    tmp/      files that a hook is writing
    new/      whole ones, put there by a rename, until the server has them
    bad/      those that cannot be read, or that the server will never take, each with its why
    full      while this is here, hooks write nothing new
    lost      when the collector began, and a byte for each fact a hook could not keep

A file leaves `new` when the server has said that it is on disk there, and not before:
whoever dies in between sends it again, and the server keeps it once.
"""

import os
import time
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from importlib import resources
from itertools import islice
from pathlib import Path
from typing import Any

from clusterra.agent.note import GAP, Note, item, note_of, spelled, words, written
from clusterra.agent.quota import Quota, given_up, is_full
from clusterra.core.errors import Invalid, Refused

MOST_BAD = 1000
"""Files kept in `bad`; older ones go."""

ABANDONED = 60
"""Seconds after which a file in `tmp` has lost the hook that was writing it."""


class Spool:
    def __init__(self, path: Path, quota: Quota | None = None) -> None:
        self.path = path
        self.new, self.tmp, self.bad = path / "new", path / "tmp", path / "bad"
        self._lost, self._full = path / "lost", path / "full"
        self._quota = quota or Quota()
        self._whole_at = 0.0
        """When nothing had been lost, as far as we have seen."""

    def open(self) -> None:
        """Make what is missing, and take up what an earlier collector has left."""
        try:
            for directory in (self.path, self.new, self.tmp, self.bad):
                if not directory.is_dir():
                    directory.mkdir(parents=True, mode=0o700)
                    self._give(directory)
            if not self._lost.exists():
                self._begin_lost()
            self.tidy()
        except OSError as error:
            raise self.unusable(error) from None

    def unusable(self, error: OSError) -> Refused:
        return Refused(
            f"The spool {self.path} cannot be used: {error.strerror}.",
            hint="Give it room, or name a directory that this user may write to with --spool.",
            code="spool-unusable",
        )

    def install(self) -> Path:
        """Put the hook where Slurm can call it, and return its path."""
        hook = self.path / "hook.sh"
        beside = self.path / ".hook.sh"
        beside.write_bytes(hook_script())
        beside.chmod(0o755)
        beside.replace(hook)
        return hook

    def notes(self) -> list[Note]:
        """Return what waits, oldest first, after giving up what is too much."""
        with os.scandir(self.new) as entries:
            notes = sorted(
                (note for entry in entries if (note := _seen(entry)) is not None),
                key=lambda note: (note.nanoseconds, note.name),
            )
        if gone := set(given_up(notes, self._quota)):
            self._give_up(gone)
            notes = [note for note in notes if note not in gone]
        if is_full(notes, self._quota):
            self._full.touch()
        else:
            self._full.unlink(missing_ok=True)
        return notes

    def read(self, note: Note) -> dict[str, Any] | None:
        """Return the event of a note; one that cannot be read is put aside, and is None."""
        try:
            return item(words((self.new / note.name).read_bytes()), note.nanoseconds)
        except FileNotFoundError:
            return None
        except (Invalid, OSError) as error:
            self.refuse(note, str(error))
            return None

    def done(self, notes: Iterable[Note]) -> None:
        for note in notes:
            (self.new / note.name).unlink(missing_ok=True)

    def refuse(self, note: Note, why: str) -> None:
        """Put a note aside for good, with the reason."""
        (self.bad / f"{note.name}.why").write_text(f"{why}\n")
        with suppress(FileNotFoundError):
            (self.new / note.name).replace(self.bad / note.name)
        kept = sorted(self.bad.iterdir(), key=lambda file: file.stat().st_mtime_ns)
        for old in kept[: -2 * MOST_BAD]:
            old.unlink()

    def tidy(self) -> int:
        """Finish what hooks were killed over, and say what could not be kept; return how much."""
        lost = self._count_lost() + sum(not self._adopt(file) for file in self._abandoned())
        now = time.time()
        if lost:
            since = datetime.fromtimestamp(self._whole_at or self._since(), UTC)
            until = datetime.fromtimestamp(now, UTC)
            why = "hooks could not write: the disk or the spool was full"
            self._tell_of_a_gap(lost, since=min(since, until), until=until, why=why)
            self._begin_lost()
        self._whole_at = now
        return lost

    def _give_up(self, gone: Collection[Note]) -> None:
        times = [note.nanoseconds for note in gone]
        gap = partial(
            self._tell_of_a_gap,
            len(gone),
            since=written(min(times)),
            until=written(max(times)),
            why="the spool was over its quota",
        )
        # Said before anything goes: a collector that dies here says too much, never too little.
        # Unless the disk is so full that the first to go has to make room for saying it.
        try:
            gap()
        except OSError:
            self.done(islice(gone, 1))
            gap()
        self.done(gone)

    def _abandoned(self) -> Sequence[Path]:
        before = time.time() - ABANDONED
        return [file for file in self.tmp.iterdir() if file.stat().st_mtime < before]

    def _adopt(self, file: Path) -> bool:
        try:
            words(file.read_bytes())
        except Invalid:
            file.unlink()
            return False
        file.replace(self.new / file.name)
        return True

    def _count_lost(self) -> int:
        return self._lost.read_bytes().count(b".")

    def _since(self) -> float:
        begun = self._lost.read_bytes().split(b"\n", 1)[0]
        return float(begun) if begun.isdigit() else 0.0

    def _begin_lost(self) -> None:
        # Not empty: a byte more then fits on a disk that has no room for a new block.
        beside = self.path / ".lost"
        beside.write_text(f"{int(time.time())}\n")
        beside.chmod(0o600)
        self._give(beside)
        beside.replace(self._lost)

    def _tell_of_a_gap(self, lost: int, *, since: datetime, until: datetime, why: str) -> None:
        said = {
            "HOOK": GAP,
            "LOST": lost,
            "SINCE": since.isoformat(),
            "UNTIL": until.isoformat(),
            "WHY": why,
        }
        name = f"{GAP}.{time.time_ns()}"
        (self.tmp / name).write_bytes(spelled(said))
        (self.tmp / name).replace(self.new / name)

    def _give(self, path: Path) -> None:
        """Let whoever owns the spool, and so runs the hooks, write there too."""
        owner = self.path.stat()
        if os.geteuid() == 0 and owner.st_uid:
            os.chown(path, owner.st_uid, owner.st_gid)


def hook_script() -> bytes:
    return (resources.files(__package__) / "hook.sh").read_bytes()


def _seen(entry: "os.DirEntry[str]") -> Note | None:
    try:
        return note_of(entry)
    except FileNotFoundError:
        return None

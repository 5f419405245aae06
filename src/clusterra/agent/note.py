"""One file of the spool: what a hook wrote down, and what is sent of it.

A note is `KEY=value` words, each ended by a NUL, since no value of an environment
can hold one; the last is `WHOLE=1`. Names are as long as somebody made them and in
whatever encoding: here they are cut, and what is not UTF-8 is replaced.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from clusterra.core.errors import Invalid

LONGEST = 1024
"""Characters of a value. A node list is the longest thing worth keeping."""

GAP = "gap"
_STARTS = {"prolog_slurmctld": "job.allocated", "prolog_slurmd": "job.started"}
_ENDS = ("jobcomp", "epilog_slurmctld", "epilog_slurmd")

_FIELDS = {
    "JOB": "job_id",
    "RESTARTS": "restarts",
    "NODE": "node",
    "NAME": "name",
    "USER": "user",
    "ACCOUNT": "account",
    "PARTITION": "partition",
    "NODES": "nodes",
    "EXIT": "exit_code",
    "STATE": "state",
    "REASON": "reason",
    "SUBMIT": "submitted_at",
    "START": "started_at",
    "END": "ended_at",
    "ARRAY": "array_id",
    "TASK": "array_task",
    "LOST": "lost",
    "SINCE": "since",
    "UNTIL": "until",
    "WHY": "why",
}
"""What each word is called in the event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A file of the spool, by what can be known without reading it."""

    name: str
    """`<job>.<restarts>.<hook>.<node>.<pid>`, or `gap.<when>`."""

    nanoseconds: int
    """When it was written, which is when the hook was called."""

    size: int

    @property
    def is_gap(self) -> bool:
        return self.name.startswith(f"{GAP}.")

    @property
    def tells_of_an_end(self) -> bool:
        """Say whether it is what people wait for: that a job ended, and how."""
        parts = self.name.split(".")
        return len(parts) > 2 and parts[2] in _ENDS


def words(data: bytes) -> dict[str, str]:
    """Read a note. Raises Invalid if it is not whole, or none at all."""
    *parts, rest = data.split(b"\0")
    if rest or not parts or parts[-1] != b"WHOLE=1":
        raise Invalid("It is not whole.")
    pairs = (part.decode(errors="replace").partition("=") for part in parts)
    return {name: value[:LONGEST] for name, _, value in pairs}


def item(said: Mapping[str, str], nanoseconds: int) -> dict[str, str]:
    """Return a note as the event that is sent. Raises Invalid for one of no known hook."""
    hook = said.get("HOOK", "")
    event = "collector.gap" if hook == GAP else "job.ended" if hook in _ENDS else _STARTS.get(hook)
    if event is None:
        raise Invalid(f"There is no hook {hook!r}.")
    sent = {"event": event, "ts": written(nanoseconds).isoformat()}
    sent |= {ours: said[name] for name, ours in _FIELDS.items() if said.get(name)}
    if hook in _STARTS:
        # Before a job has ended, Slurm gives as its end when its time will be up.
        sent.pop("ended_at", None)
    return sent


def spelled(said: Mapping[str, object]) -> bytes:
    """Return words as a note holds them."""
    return b"".join(f"{name}={value}\0".encode() for name, value in (*said.items(), ("WHOLE", 1)))


def written(nanoseconds: int) -> datetime:
    return datetime.fromtimestamp(nanoseconds / 1e9, UTC)


def note_of(entry: "os.DirEntry[str]") -> Note:
    about = entry.stat(follow_symlinks=False)
    return Note(name=entry.name, nanoseconds=about.st_mtime_ns, size=about.st_size)

"""What this machine has seen of ledgers: the key each is known by, and the newest checkpoint.

A small file per cluster under the user's state directory. It is what a server that
rewrote everything, or put an older copy back, cannot reach.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from clusterra.core.errors import Invalid
from clusterra.core.events.checkpoint import Unreadable, read_key, read_note
from clusterra.core.events.verify import Memory, Report


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    key: str
    checkpoint: str


def place(environ: Mapping[str, str], cluster: str) -> Path:
    home = environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    # The name comes out of a file that anybody may have written.
    safe = "".join(char if char.isalnum() or char in "-_" else "_" for char in cluster)
    return Path(home) / "clusterra" / "ledgers" / f"{safe}.json"


def recall(file: Path) -> Memory:
    try:
        kept = msgspec.json.decode(file.read_bytes(), type=_Kept)
        read_note(kept.checkpoint)
        return Memory(key=read_key(kept.key), checkpoint=kept.checkpoint)
    except FileNotFoundError:
        return Memory()
    except (OSError, msgspec.DecodeError, Unreadable) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise Invalid(
            f"What was seen of this ledger before cannot be read: {why}",
            hint=f"Mend {file}, or remove it to trust the ledger anew.",
        ) from None


def remember(file: Path, report: Report, memory: Memory) -> None:
    """Keep the newest checkpoint of a ledger that was found intact."""
    if report.newest is None:
        return
    if memory.checkpoint:
        known = read_note(memory.checkpoint).checkpoint.size
        if known >= report.newest.checkpoint.size:
            return
    kept = msgspec.json.encode(_Kept(key=report.key, checkpoint=report.newest.whole))
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    beside = file.with_suffix(".new")
    beside.write_bytes(kept + b"\n")
    beside.replace(file)

"""What was signed about a ledger, as it travels."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointView:
    size: int
    """How many events it covers."""
    root: str
    """The Merkle root over them, in hex."""
    signed_at: datetime | None
    note: str
    """The signed note itself (C2SP tlog-checkpoint): keep it, and hold the ledger to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointPage:
    origin: str
    """The ledger's name in its checkpoints."""
    key: str
    """The public key that signs them, as Go's sumdb/note spells it."""
    checkpoints: list[CheckpointView]
    """The newest, oldest of them first."""
    held: str
    """Why the ledger takes no more events; empty if it does."""

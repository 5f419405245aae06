"""What the ledger is held to."""

from collections.abc import AsyncIterator, Sequence
from typing import Protocol


class Signer(Protocol):
    """Who signs checkpoints."""

    @property
    def public(self) -> bytes:
        """The public half of its Ed25519 key."""
        ...

    def sign(self, message: bytes) -> bytes: ...


class Archive(Protocol):
    """An append-only place outside the store: what a store that was altered is held to."""

    async def add(self, cluster: str, checkpoint: str) -> None:
        """Add a signed checkpoint after the others. When this returns, it survives the machine."""
        ...

    def checkpoints(self, cluster: str) -> AsyncIterator[str]:
        """Stream every checkpoint that was added, oldest first."""
        ...

    async def newest(self, cluster: str) -> str | None:
        """Return the checkpoint that was added last."""
        ...

    async def keep(self, cluster: str, first: int, lines: AsyncIterator[bytes]) -> None:
        """Keep the segment of the ledger that begins with event `first`: all of it or nothing.

        A segment that begins there already is replaced.
        """
        ...

    async def segments(self, cluster: str) -> Sequence[int]:
        """Return the first event of every segment, oldest first."""
        ...

    def segment(self, cluster: str, first: int) -> AsyncIterator[bytes]:
        """Stream a segment as it was kept."""
        ...

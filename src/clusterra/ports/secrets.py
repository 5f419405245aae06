"""What must be used and never shown."""

from typing import Protocol

from clusterra.ports.ledger import Signer


class JwtKeys(Protocol):
    """Where the keys of Slurms that were added lie, and nobody but the server reads them."""

    def keep(self, cluster: str, key: bytes) -> None:
        """Keep it. Raises Refused where that is not possible."""
        ...

    def forget(self, cluster: str) -> None:
        """Let go of it; there being none is fine."""
        ...


class Vault(Protocol):
    """Keeps what must be used and never shown: secrets that the store holds locked."""

    def lock(self, text: str) -> str:
        """Return it so that only this vault can read it."""
        ...

    def unlock(self, locked: str) -> str:
        """Return what was locked. Raises Refused if it was not by this vault."""
        ...

    def signer(self, locked: str) -> Signer:
        """Return who signs with the Ed25519 seed (in hexadecimal) that was locked."""
        ...

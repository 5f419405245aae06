"""The key that signs checkpoints: made at the first start, kept in a file that only we can read."""

import os
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from clusterra.adapters.secret_file import secret_in
from clusterra.core.errors import Invalid
from clusterra.core.events.checkpoint import Unreadable, read_secret, write_secret

NAME = "clusterra"


class LedgerKey:
    def __init__(self, seed: bytes) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(seed)
        self.public = self._key.public_key().public_bytes_raw()

    def sign(self, message: bytes) -> bytes:
        return self._key.sign(message)


def open_key(path: Path) -> LedgerKey:
    """Return the key in this file; make both if there is none."""
    try:
        return LedgerKey(read_secret(secret_in(path, _new).decode()))
    except (OSError, UnicodeDecodeError, Unreadable) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise Invalid(
            f"The ledger's key {path} cannot be read: {why}",
            hint="Put the right file back. Without it, checkpoints can no longer be signed by the"
            " key that people know this ledger by.",
        ) from None


def _new() -> bytes:
    seed = os.urandom(32)
    return f"{write_secret(NAME, seed, LedgerKey(seed).public)}\n".encode()

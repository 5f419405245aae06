"""The key that signs checkpoints: made at the first start, kept in a file that only we can read."""

import os
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

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
        if not path.exists():
            _make(path)
        return LedgerKey(read_secret(path.read_text()))
    except (OSError, UnicodeDecodeError, Unreadable) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise Invalid(
            f"The ledger's key {path} cannot be read: {why}",
            hint="Put the right file back. Without it, checkpoints can no longer be signed by the"
            " key that people know this ledger by.",
        ) from None


def _make(path: Path) -> None:
    seed = os.urandom(32)
    beside = path.with_name(f".{path.name}.new")
    beside.unlink(missing_ok=True)
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(write_secret(NAME, seed, LedgerKey(seed).public) + "\n")
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)

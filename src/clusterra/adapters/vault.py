"""Secrets locked with a key that lies in a file beside the database, and never in it.

AES-256-GCM with a nonce of its own for each, so that whoever has the database alone has
nothing to try keys against.
"""

import base64
import binascii
import os
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from clusterra.adapters.ledger_key import LedgerKey
from clusterra.adapters.secret_file import secret_in
from clusterra.core.errors import Invalid, Refused
from clusterra.ports import Signer

KEY_BYTES = 32
_NONCE_BYTES = 12
_MADE_BY = "v1."
"""How what was locked begins, so that another way can be told from this one some day."""


class LocalVault:
    def __init__(self, key: bytes) -> None:
        self._cipher = AESGCM(key)

    def lock(self, text: str) -> str:
        nonce = os.urandom(_NONCE_BYTES)
        locked = nonce + self._cipher.encrypt(nonce, text.encode(), None)
        return _MADE_BY + base64.b64encode(locked).decode()

    def unlock(self, locked: str) -> str:
        try:
            raw = base64.b64decode(locked.removeprefix(_MADE_BY), validate=True)
            return self._cipher.decrypt(raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], None).decode()
        except (InvalidTag, ValueError, binascii.Error):
            raise Refused(
                "A secret cannot be read: it was locked with another key than this server has.",
                hint="Put back the key of webhooks (webhooks.key in the state directory) that the"
                " database was used with, or set the secret anew.",
                code="locked-with-another-key",
            ) from None

    def signer(self, locked: str) -> Signer:
        return LedgerKey(bytes.fromhex(self.unlock(locked)))


def open_vault(path: Path) -> LocalVault:
    """Return the vault whose key is in this file; make both if there is none."""
    try:
        key = secret_in(path, lambda: os.urandom(KEY_BYTES))
    except OSError as error:
        raise Invalid(
            f"The key of webhooks {path} cannot be read or made: {error.strerror}.",
            hint="Mend its permissions, or name another file with webhooks.key.",
        ) from None
    if len(key) != KEY_BYTES:
        raise Invalid(
            f"The key of webhooks {path} has {len(key)} bytes, not {KEY_BYTES}.",
            hint="Put the right one back. Deleting it makes a new one, and every webhook needs a"
            " new address and secret then.",
        )
    return LocalVault(key)

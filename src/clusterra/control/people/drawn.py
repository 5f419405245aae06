"""Secrets and ids, drawn by chance."""

import secrets
from datetime import datetime

from clusterra.core.ids import uuid7

_SPOKEN = "BCDFGHJKLMNPQRSTVWXZ"
"""No vowels, so no words; no digits, so nothing to mistake for a letter (RFC 8628, 6.1)."""


def new_id(prefix: str, now: datetime) -> str:
    return prefix + uuid7(now, secrets.token_bytes(10)).replace("-", "")


def new_event_id(now: datetime) -> str:
    return uuid7(now, secrets.token_bytes(10))


def new_secret(prefix: str = "") -> str:
    return prefix + secrets.token_urlsafe(32)


def new_user_code() -> str:
    letters = "".join(secrets.choice(_SPOKEN) for _ in range(8))
    return f"{letters[:4]}-{letters[4:]}"


def read_user_code(typed: str) -> str:
    """Return a code the way it is kept, however it was typed."""
    letters = "".join(letter for letter in typed.upper() if letter.isalpha())
    return f"{letters[:4]}-{letters[4:8]}" if len(letters) == 8 else typed[:16]

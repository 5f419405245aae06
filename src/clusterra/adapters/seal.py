"""Sealed text: JSON Web Tokens of our own, signed with a key that never leaves this server."""

import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import OctKey

from clusterra.adapters.secret_file import secret_in
from clusterra.core.errors import Invalid, Unauthenticated
from clusterra.ports import Clock

_ALGORITHM = "HS256"
_MOST_REMEMBERED = 10_000


class SealKey:
    def __init__(self, key: bytes, *, clock: Clock) -> None:
        self._key = OctKey.import_key(key)
        self._clock = clock
        self._opened: dict[str, tuple[str, int, Mapping[str, str]]] = {}
        """What was checked before: the same cookie comes with every request of a page."""

    def seal(self, kind: str, content: Mapping[str, str], *, until: datetime) -> str:
        claims = {**content, "iat": int(self._clock.now().timestamp()), "exp": _seconds(until)}
        return jwt.encode({"alg": _ALGORITHM, "typ": kind}, claims, self._key)

    def opened(self, kind: str, sealed: str) -> Mapping[str, str]:
        known = self._opened.get(sealed)
        if known is None:
            known = self._check(sealed)
            if len(self._opened) >= _MOST_REMEMBERED:
                self._opened.clear()
            self._opened[sealed] = known
        is_a, ends, content = known
        if is_a != kind:
            raise _not_ours()
        if ends <= self._clock.now().timestamp():
            raise Unauthenticated(
                "This session has to be refreshed: what was sent is no longer good.",
                hint="Refresh it with POST /v1/auth/refresh, or sign in again.",
                code="token-expired",
            )
        return content

    def _check(self, sealed: str) -> tuple[str, int, Mapping[str, str]]:
        try:
            token = jwt.decode(sealed, self._key, algorithms=[_ALGORITHM])
            content = {
                name: value for name, value in token.claims.items() if isinstance(value, str)
            }
            return str(token.header["typ"]), int(token.claims["exp"]), content
        except (JoseError, ValueError, KeyError, TypeError):
            raise _not_ours() from None


def open_seal_key(path: Path) -> bytes:
    """Return the key in this file; make both if there is none."""
    try:
        key = secret_in(path, lambda: os.urandom(32))
    except OSError as error:
        raise Invalid(
            f"The key of sessions {path} cannot be read or made: {error.strerror}.",
            hint="Mend its permissions; without it nobody can stay signed in.",
        ) from None
    if len(key) < 32:
        raise Invalid(
            f"The key of sessions {path} has {len(key)} bytes, not 32.",
            hint="Delete it: a new one is made, and everybody signs in again.",
        )
    return key


def _seconds(moment: datetime) -> int:
    return int(moment.timestamp())


def _not_ours() -> Unauthenticated:
    return Unauthenticated(
        "This token is not valid here.",
        hint="Sign in again; a token for scripts is made with `clusterra tokens create`.",
        code="bad-token",
    )

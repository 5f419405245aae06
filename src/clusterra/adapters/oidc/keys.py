"""The keys a provider signs with: kept for an hour, asked for again when one is missing.

Providers rotate their keys when they like, so a token under an unknown key is a reason to
look again; but anybody can name a key that nobody has, so not more than once a minute.
"""

import asyncio
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from joserfc.errors import JoseError
from joserfc.jwk import JWKRegistry, Key, KeySet, OctKey

from clusterra.adapters.oidc.line import Line
from clusterra.core.errors import Unreachable
from clusterra.ports import Clock

KEPT = timedelta(hours=1)
"""How long a key that the provider has withdrawn may still be believed."""
_BETWEEN_LOOKS = timedelta(minutes=1)


class Keys:
    def __init__(self, line: Line, clock: Clock) -> None:
        self._line = line
        self._clock = clock
        self._one_at_a_time = asyncio.Lock()
        self._address = ""
        self._keys = KeySet([])
        self._read_at: datetime | None = None
        self._looked_again_at: datetime | None = None

    async def at(self, address: str) -> KeySet:
        """Return the keys published at `address`."""
        async with self._one_at_a_time:
            fresh = self._read_at is not None and self._clock.now() - self._read_at < KEPT
            if not fresh or address != self._address:
                await self._read(address)
            return self._keys

    async def again(self, address: str, without: KeySet) -> KeySet:
        """Return the keys once more, because the one that was wanted is not in `without`."""
        async with self._one_at_a_time:
            if self._keys is not without:  # somebody else has looked again meanwhile
                return self._keys
            now, before = self._clock.now(), self._looked_again_at
            if before is None or now - before >= _BETWEEN_LOOKS:
                self._looked_again_at = now
                await self._read(address)
            return self._keys

    async def _read(self, address: str) -> None:
        answer = await self._line.get(address)
        listed = answer.document.get("keys")
        if answer.status != 200 or not isinstance(listed, list):
            raise Unreachable(
                f"The provider does not show its keys at {address}: it answers {answer.status}.",
                hint="Try again in a minute; if it stays so, tell an admin.",
                code="provider-unreadable",
            )
        self._keys = KeySet([key for each in listed if (key := _key(each)) is not None])
        self._address, self._read_at = address, self._clock.now()


def _key(listed: Mapping[str, Any]) -> Key | None:
    """Return a key that signatures can be checked with; None for what else may be listed.

    One key of a kind that we do not know must not hide the others (RFC 7517, section 5), and
    a shared secret has no business in a public list.
    """
    try:
        key = JWKRegistry.import_key(dict(listed))
    except (JoseError, ValueError, TypeError, KeyError):
        return None
    return None if isinstance(key, OctKey) or key.get("use") == "enc" else key

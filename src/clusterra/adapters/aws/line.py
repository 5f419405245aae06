"""Ask AWS over HTTP: one question, one answer, within limits. What it says is `replies`' to read."""

from collections.abc import Mapping
from urllib.parse import urlsplit

import aiohttp

from clusterra.adapters.no_answer import why
from clusterra.core.errors import Unreachable

_LONGEST = 16_777_216
"""Bytes. A page of a hundred products, each with all its terms, is about 1 MB."""


class Line:
    def __init__(self, *, patience: float, what: str = "prices") -> None:
        """`patience`: seconds for one answer, all of it. `what` is asked for, in a sentence."""
        self._what = what
        self._patience = aiohttp.ClientTimeout(total=patience)
        self._session: aiohttp.ClientSession | None = None

    async def ask(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes = b""
    ) -> tuple[int, bytes]:
        """Return the status and the body of the answer.

        Raises Unreachable if there is none. Nobody is followed elsewhere: what is sent is for
        this address alone.
        """
        if self._session is None:
            self._session = aiohttp.ClientSession(
                timeout=self._patience, cookie_jar=aiohttp.DummyCookieJar()
            )
        try:
            async with self._session.request(
                method, url, data=body or None, headers=headers, allow_redirects=False
            ) as reply:
                return reply.status, await self._read(reply)
        except TimeoutError:
            raise unreachable(url, "it does not answer in time", self._what) from None
        except (aiohttp.ClientError, OSError) as error:
            raise unreachable(url, why(error), self._what) from None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _read(self, reply: aiohttp.ClientResponse) -> bytes:
        data = bytearray()
        async for part in reply.content.iter_any():
            data += part
            if len(data) > _LONGEST:
                raise unreachable(
                    str(reply.url), f"it answers with more than {_LONGEST:,} bytes", self._what
                )
        return bytes(data)


def unreachable(url: str, why: str, what: str = "prices") -> Unreachable:
    return Unreachable(
        f"AWS cannot be asked for {what} at {urlsplit(url).netloc}: {why}.",
        hint="Try again later. If it stays so, check that this server can reach that address, and"
        " that the region in the settings is spelled right.",
        code="cloud-unreachable",
    )

"""Ask the provider over HTTP: one question, one JSON answer, within limits.

What an answer means is not decided here. A provider is trusted to say who somebody is,
and with nothing else: it may not be slow for ever, answer without end, send us on to
another address (the client's secret would travel along) or leave cookies, which the
next person's sign-in would carry.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import msgspec

from clusterra.adapters.no_answer import why
from clusterra.core.errors import Unreachable

_LONGEST = 1_048_576
"""Bytes. Microsoft's keys, the longest document seen, are 20 kB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    status: int
    document: Mapping[str, Any] = field(repr=False)
    """Not to be seen in a log by accident: tokens are in it."""


class Line:
    def __init__(self, name: str, *, patience: float = 10) -> None:
        """`patience`: seconds for one answer, all of it; somebody's browser waits meanwhile."""
        self._name = name
        self._patience = aiohttp.ClientTimeout(total=patience)
        self._session: aiohttp.ClientSession | None = None

    async def get(self, url: str, *, bearer: str = "") -> Answer:
        headers = {"Authorization": f"Bearer {bearer}"} if bearer else {}
        return await self._ask("GET", url, headers, None)

    async def post(self, url: str, form: str, headers: Mapping[str, str]) -> Answer:
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        return await self._ask("POST", url, {**headers, **kind}, form.encode())

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _ask(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None
    ) -> Answer:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                timeout=self._patience, cookie_jar=aiohttp.DummyCookieJar()
            )
        try:
            async with self._session.request(
                method,
                url,
                data=body,
                headers={"Accept": "application/json", **headers},
                allow_redirects=False,
            ) as reply:
                status, data = reply.status, await self._read(reply)
        except TimeoutError:
            raise self._unreachable(url, "it does not answer") from None
        except (aiohttp.ClientError, OSError) as error:
            raise self._unreachable(url, why(error)) from None
        if status >= 500:
            raise self._unreachable(url, f"it answers {status}")
        return Answer(status=status, document=self._document(url, status, data))

    async def _read(self, reply: aiohttp.ClientResponse) -> bytes:
        data = bytearray()
        async for part in reply.content.iter_any():
            data += part
            if len(data) > _LONGEST:
                raise Unreachable(
                    f"{self._name} answers with more than {_LONGEST} bytes at {reply.url.host}.",
                    hint="An admin should check what answers at the issuer's address.",
                    code="provider-unreadable",
                )
        return bytes(data)

    def _document(self, url: str, status: int, data: bytes) -> Mapping[str, Any]:
        try:
            return msgspec.json.decode(data, type=dict[str, Any])
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise Unreachable(
                f"{self._name} answers {status} at {_place(url)} with something that is not JSON.",
                hint="An admin should check the issuer, and any proxy on the way to it.",
                code="provider-unreadable",
            ) from None

    def _unreachable(self, url: str, why: str) -> Unreachable:
        return Unreachable(
            f"{self._name} cannot be asked at {_place(url)}: {why}.",
            hint="Try again in a minute. If it stays so, an admin should check that this server"
            " can reach that address.",
            code="provider-unreachable",
        )


def _place(url: str) -> str:
    """Return the address without its query, where secrets may be."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}{parts.path}"

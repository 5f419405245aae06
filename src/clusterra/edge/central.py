"""The control plane over HTTP, as an agent asks it: 200 is an answer, nothing else is."""

from collections.abc import Callable

import aiohttp
import msgspec

from clusterra import __version__
from clusterra.core.errors import Unanswered, Unreachable

IDLE = 4.0
"""Seconds a connection is kept: servers close idle ones after five."""

_MOST_TOLD = 300


class _Problem(msgspec.Struct):
    detail: str = ""


class HttpCentral:
    """Only within an event loop."""

    def __init__(self, url: str, key: Callable[[], str]) -> None:
        self._url = url.rstrip("/")
        self._key = key
        """Asked every time, so that a replaced key is found."""
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(keepalive_timeout=IDLE),
            headers={
                "User-Agent": f"clusterra-agent/{__version__}",
                "Content-Type": "application/json",
            },
        )

    async def ask(self, path: str, body: bytes, *, within: float) -> bytes:
        key = self._key()
        try:
            async with self._session.post(
                self._url + path,
                data=body,
                headers={"X-Agent-Key": key} if key else {},
                timeout=aiohttp.ClientTimeout(total=within),
                allow_redirects=False,
            ) as answer:
                said = await answer.read()
        except TimeoutError:
            raise Unanswered(f"{self._url} did not answer within {within:.0f} s.") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            why = str(error) or type(error).__name__
            raise Unreachable(f"{self._url} cannot be asked: {why}.") from None
        if answer.status != 200:
            raise Unreachable(f"{self._url} answered {answer.status}{_detail(said)}.")
        return said

    async def close(self) -> None:
        await self._session.close()


def _detail(said: bytes) -> str:
    try:
        detail = msgspec.json.decode(said, type=_Problem).detail
    except msgspec.MsgspecError:
        return ""
    return f": {detail[:_MOST_TOLD].rstrip('.')}" if detail else ""

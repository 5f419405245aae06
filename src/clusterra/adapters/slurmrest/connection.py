"""Connections to a slurmrestd that says its errors twice.

slurmrestd 26.05 answers an error with two complete replies in a row, the first
marked `Connection: Close`. aiohttp takes whatever follows such a reply for an
attack and throws the first away with it, so that "no such partition" would look like
a dead server. By RFC 9112 nothing after a reply with `close` belongs to us: it is
cut off here, before the parser sees it.

aiohttp has no public place for this; a connector's `_factory`, which makes the
protocol of each connection, has been there since 3.0, and a test with a server that
repeats itself watches over it.
"""

import asyncio
import functools
import re

import aiohttp
from aiohttp.client_proto import ResponseHandler

_LENGTH = re.compile(rb"\r\ncontent-length:\s*(\d+)", re.IGNORECASE)
_CLOSE = re.compile(rb"\r\nconnection:\s*close", re.IGNORECASE)


class LastWord(ResponseHandler):
    """A connection on which nothing is heard after the reply that closes it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop=loop)
        self._awaited = 0
        """Bytes still to come of the reply under way."""
        self._closing = False
        self._counting = True

    def data_received(self, data: bytes) -> None:
        super().data_received(self._ours(data) if self._counting and data else data)

    def _ours(self, data: bytes) -> bytes:
        if self._awaited == 0 and not self._closing:
            head = data.find(b"\r\n\r\n")
            length = _LENGTH.search(data, 0, head) if head > 0 else None
            if length is None:
                # Chunked, or the head in two pieces: a proxy's reply, which is said once.
                self._counting = False
                return data
            self._awaited = head + 4 + int(length[1])
            self._closing = _CLOSE.search(data, 0, head) is not None
        ours = data[: self._awaited] if self._closing else data
        self._awaited = max(0, self._awaited - len(data))
        return ours


def _last_word(loop: asyncio.AbstractEventLoop) -> ResponseHandler:
    return LastWord(loop)


def connector(socket: str, *, connections: int, idle_seconds: float) -> aiohttp.BaseConnector:
    """Return a pool of such connections, over TCP or to a Unix socket."""
    made: aiohttp.BaseConnector = (
        aiohttp.UnixConnector(socket, limit=connections, keepalive_timeout=idle_seconds)
        if socket
        else aiohttp.TCPConnector(limit=connections, keepalive_timeout=idle_seconds)
    )
    loop = asyncio.get_running_loop()
    made._factory = functools.partial(_last_word, loop=loop)  # noqa: SLF001  (see above)
    return made

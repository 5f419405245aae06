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
_BODILESS = re.compile(rb"HTTP/1\.[01] (1\d\d|204|304)\b")
_LONGEST_HEAD = 65536


class LastWord(ResponseHandler):
    """A connection on which nothing is heard after the reply that closes it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop=loop)
        self._head = b""
        """What has come of the head of a reply; handed on once it is complete."""
        self._awaited = 0
        """Bytes still to come of the body under way."""
        self._closing = False
        self._listening = True
        self._counting = True

    def data_received(self, data: bytes) -> None:
        ours = self._ours(data)
        # A call without bytes is aiohttp's own: it wakes a parser that was paused.
        if ours or not data:
            super().data_received(ours)

    def _ours(self, data: bytes) -> bytes:
        """Return what belongs to a reply we wait for, up to the end of the last one."""
        ours = b""
        while data and self._listening:
            if not self._counting:
                return ours + data
            if self._awaited:
                part, data = data[: self._awaited], data[self._awaited :]
                self._awaited -= len(part)
                ours = ours + part if ours else part
            else:
                part, data = self._begin(data)
                ours += part
            if self._closing and not self._awaited:
                self._listening = False
        return ours

    def _begin(self, data: bytes) -> tuple[bytes, bytes]:
        """Take the head of a reply: return it once it is complete, and what follows it."""
        self._head += data
        end = self._head.find(b"\r\n\r\n") + 4
        if end < 4 and len(self._head) < _LONGEST_HEAD:
            return b"", b""
        head, rest = self._head[:end], self._head[end:]
        bodiless, length = _BODILESS.match(head), _LENGTH.search(head)
        if end < 4 or not (length or bodiless):
            # A reply of unknown length is a proxy's, and a proxy says things once.
            self._counting = False
            head, rest = self._head, b""
        self._head = b""
        self._awaited = int(length[1]) if length and not bodiless and self._counting else 0
        self._closing = self._counting and _CLOSE.search(head) is not None
        return head, rest


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

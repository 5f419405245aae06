"""One connection to slurmrestd: one request at a time, the reply as it arrives.

As much of HTTP/1.1 as slurmrestd, or a proxy before it, speaks: a reply has a length,
comes in chunks, or ends with the connection. A client for the whole web costs 0.3 ms
more a call, where a submission takes 2 ms.

slurmrestd 26.05 says every error twice in a row. So a connection ends with the first
reply that is no success: what comes after it is not listened to, and no other request
is ever answered with it.
"""

import asyncio
from dataclasses import dataclass
from typing import cast

import httptools

HELD = 131072
"""Bytes of a reply that wait for their reader before no more are taken from the network."""


class Lost(ConnectionError):
    """The connection ended, or what came made no sense, before the reply was complete."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """How a reply begins."""

    status: int
    kind: str
    """Its media type, as `application/json`; empty if it has none."""


class Connection(asyncio.Protocol):
    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._parser: httptools.HttpResponseParser | None = None
        """Of the reply under way; None before the first request."""
        self._waiting: asyncio.Future[None] | None = None
        self._failure: Lost | None = None
        self._begin()

    def _begin(self) -> None:
        self._head: Head | None = None
        self._kind = ""
        self._framed = False
        """The reply says itself where it ends."""
        self._parts: list[bytes] = []
        self._held = 0
        self._complete = False
        self._kept = False
        """The other side is ready for another request."""

    @property
    def open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    @property
    def reusable(self) -> bool:
        return self._complete and self._kept and not self._parts and self.open

    async def send(self, request: bytes) -> Head:
        """Send a request and return how its reply begins."""
        assert self._transport is not None
        self._begin()
        self._parser = httptools.HttpResponseParser(self)
        self._transport.write(request)
        while self._head is None:
            await self._news()
        return self._head

    async def read(self) -> bytes:
        """Return what has come of the body since the last call; nothing once it was all."""
        while not self._parts:
            if self._complete:
                return b""
            await self._news()
        data = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._parts.clear()
        if self._held > HELD and self._transport is not None and self.open:
            self._transport.resume_reading()
        self._held = 0
        return data

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    async def _news(self) -> None:
        if self._failure is not None:
            raise self._failure
        self._waiting = asyncio.get_running_loop().create_future()
        try:
            await self._waiting
        finally:
            self._waiting = None

    def _tell(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def _fail(self, why: str) -> None:
        self._failure = Lost(why)
        self._tell()

    # --- what the event loop tells us

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is one only in deed

    def data_received(self, data: bytes) -> None:
        if self._parser is None or self._complete:
            self.close()  # nobody asked
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            if not self._complete:
                self._fail(f"what it says is not HTTP: {error}")
            self.close()
        self._tell()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._head is not None and not self._framed and exc is None:
            self._complete = True
        if not self._complete:
            self._fail(str(exc) if exc and str(exc) else "the connection was closed")
        self._tell()

    # --- what the parser finds

    def on_message_begin(self) -> None:
        if self._complete:
            self._kept = False

    def on_header(self, name: bytes, value: bytes) -> None:
        match name.lower():
            case b"content-type":
                self._kind = value.decode("latin-1").partition(";")[0].strip().lower()
            case b"content-length" | b"transfer-encoding":
                self._framed = True

    def on_headers_complete(self) -> None:
        assert self._parser is not None
        status = self._parser.get_status_code()
        if self._complete or status < 200:
            return
        self._head = Head(status=status, kind=self._kind)

    def on_body(self, body: bytes) -> None:
        if self._complete:
            return
        self._parts.append(body)
        before, self._held = self._held, self._held + len(body)
        if before <= HELD < self._held and self._transport is not None:
            self._transport.pause_reading()

    def on_message_complete(self) -> None:
        assert self._parser is not None
        if self._complete or self._head is None:
            return  # an error said again, or a "100 Continue"
        self._complete = True
        self._kept = self._head.status < 400 and self._parser.should_keep_alive()

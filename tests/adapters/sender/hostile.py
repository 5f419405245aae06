"""Servers that do what no server should: one script, played to every connection."""

import asyncio
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from typing import Protocol

_KERNEL = 16_384
"""Bytes that the kernel holds for a server of ours before it has to wait for its reader, so that
what was given away is nearly what was taken."""

_PIECE = 8_192


class Place(Protocol):
    """Where a server is, and what has come of it."""

    port: int
    connections: int
    requests: list[bytes]
    given: int
    """Bytes that the far side, or the kernel for it, has taken."""


class Peer:
    """One connection, from the server's side."""

    def __init__(
        self, place: "Served", reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._place = place
        self._reader = reader
        self._writer = writer
        writer.transport.set_write_buffer_limits(0)

    @property
    def number(self) -> int:
        """1 for the first connection that the server ever had."""
        return self._place.connections

    async def hear(self) -> bytes:
        """Return one whole request; raises if there is none."""
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = 0
        for line in head.lower().split(b"\r\n"):
            if line.startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        request = head + await self._reader.readexactly(length)
        self._place.requests.append(request)
        return request

    async def hear_something(self) -> None:
        """Wait until the far side says anything, and do not care what."""
        await self._reader.read(1)

    async def say(self, data: bytes) -> None:
        for begin in range(0, len(data), _PIECE):
            piece = data[begin : begin + _PIECE]
            self._writer.write(piece)
            await self._writer.drain()
            self._place.given += len(piece)

    async def say_for_ever(self, data: bytes, every: float = 0) -> None:
        while True:
            await self.say(data)
            await asyncio.sleep(every)

    async def silence(self) -> None:
        """Say nothing more until the far side has gone."""
        while await self._reader.read(65_536):
            pass

    async def deafness(self) -> None:
        """Neither say nor read anything, until the server is closed."""
        self._writer.transport.pause_reading()  # type: ignore[attr-defined]
        await asyncio.Event().wait()

    async def pass_on_to(self, port: int) -> None:
        """Be a pipe between the far side and a server of this machine, until either has gone."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        ways = [_flow(self._reader, writer), _flow(reader, self._writer)]
        flowing = [asyncio.ensure_future(way) for way in ways]
        try:
            await asyncio.wait(flowing, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in flowing:
                each.cancel()
            await asyncio.gather(*flowing, return_exceptions=True)
            writer.transport.abort()

    def reset(self) -> None:
        """Break off, so that the far side gets an error and no end."""
        given = self._writer.get_extra_info("socket")
        given.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()


async def _flow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(_PIECE):
        writer.write(piece)
        await writer.drain()


Script = Callable[[Peer], Awaitable[None]]
Serving = Callable[[], AbstractAsyncContextManager[Place]]


class Served:
    def __init__(self, script: Script) -> None:
        self.port = 0
        self.connections = 0
        self.requests: list[bytes] = []
        self.given = 0
        self._script = script
        self._playing: set[asyncio.Task[None]] = set()

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.get_running_loop().create_task(self._play(reader, writer))
        self._playing.add(task)
        task.add_done_callback(self._playing.discard)

    async def stop(self) -> None:
        playing = list(self._playing)
        for task in playing:
            task.cancel()
        await asyncio.gather(*playing, return_exceptions=True)

    async def _play(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            # The far side may leave at any moment; that is what most scripts are about.
            with suppress(OSError, EOFError, asyncio.LimitOverrunError):
                await self._script(Peer(self, reader, writer))
        finally:
            writer.transport.abort()


@asynccontextmanager
async def serving(
    script: Script, *, tls: Callable[[], ssl.SSLContext | None] = lambda: None
) -> AsyncIterator[Served]:
    place = Served(script)
    with listening() as door:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _KERNEL)
        place.port = door.getsockname()[1]
        server = await asyncio.start_server(place.accept, sock=door, ssl=tls(), limit=1 << 21)
        try:
            yield place
        finally:
            server.close()
            await place.stop()


@contextmanager
def listening() -> Iterator[socket.socket]:
    with socket.socket() as door:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        door.bind(("127.0.0.1", 0))
        yield door


@asynccontextmanager
async def never_accepting(*, full: bool) -> AsyncIterator[Place]:
    """Nobody takes the connections that come; if `full`, the kernel takes no more for it either."""
    place = Served(Peer.silence)
    with listening() as door:
        door.listen(0)
        place.port = door.getsockname()[1]
        waiting = []
        try:
            for _ in range(8 if full else 0):
                waiting.append(socket.socket())
                waiting[-1].setblocking(False)
                with suppress(BlockingIOError):
                    waiting[-1].connect(("127.0.0.1", place.port))
            yield place
        finally:
            for each in waiting:
                each.close()


@asynccontextmanager
async def refusing(tls: ssl.SSLContext) -> AsyncIterator[Place]:
    """A server that says why it will not shake hands, as those of asyncio do not."""
    place = Served(Peer.silence)

    def shake(door: socket.socket) -> None:
        given, _ = door.accept()
        given.settimeout(10)
        with tls.wrap_socket(given, server_side=True, do_handshake_on_connect=False) as secured:
            with suppress(ssl.SSLError):
                secured.do_handshake()
            # Closing with something unread would take back what was said.
            secured.shutdown(socket.SHUT_WR)
            while socket.socket.recv(secured, 65_536):
                pass

    def shake_once(door: socket.socket) -> None:
        with suppress(OSError):
            shake(door)

    with listening() as door:
        door.listen()
        door.settimeout(10)
        place.port = door.getsockname()[1]
        shaking = asyncio.create_task(asyncio.to_thread(shake_once, door))
        try:
            yield place
        finally:
            await shaking


@asynccontextmanager
async def nobody() -> AsyncIterator[Place]:
    """A port at which nobody listens."""
    place = Served(Peer.silence)
    with listening() as door:
        place.port = door.getsockname()[1]
        yield place

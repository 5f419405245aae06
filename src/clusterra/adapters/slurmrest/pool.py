"""Where a slurmrestd listens, and a bounded number of connections to it that are kept."""

import asyncio
import ssl
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

from clusterra.adapters.slurmrest.connection import Connection
from clusterra.core.errors import Invalid

IDLE = 15  # seconds a connection is kept for the next request


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    host: str = "localhost"
    port: int = 80
    tls: ssl.SSLContext | None = None
    socket: str = ""
    """The path of a Unix socket, which then stands for host and port."""

    prefix: str = ""
    """What comes before every path, where a proxy serves several things."""

    @property
    def name(self) -> str:
        """What requests call the other side."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port in (80, 443) else f"{host}:{self.port}"


def read_address(url: str) -> Address:
    """Read `http://host:port`, `https://…` or `unix:/path`."""
    if url.startswith("unix:"):
        return Address(socket=url.removeprefix("unix:"))
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise _not_an_address(url) from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise _not_an_address(url)
    tls = ssl.create_default_context() if parts.scheme == "https" else None
    return Address(
        host=parts.hostname,
        port=port or (443 if tls else 80),
        tls=tls,
        prefix=parts.path.rstrip("/"),
    )


def _not_an_address(url: str) -> Invalid:
    return Invalid(
        f"{url!r} is not the address of a slurmrestd.",
        hint="Write it as http://head:6820 or https://head:6820.",
        code="slurm-address",
    )


class Pool:
    """Connections to one address, in one event loop."""

    def __init__(self, address: Address, *, connections: int, timeout_seconds: float) -> None:
        self._address = address
        self._places = asyncio.Semaphore(connections)
        self._timeout = timeout_seconds
        self._idle: deque[tuple[float, Connection]] = deque()
        """The one used last is at the right, and is used next."""
        self._loop = asyncio.get_running_loop()

    @property
    def of_this_loop(self) -> bool:
        return self._loop is asyncio.get_running_loop()

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """Lend a connection; one whose reply was not read to its end is closed afterwards."""
        async with self._places:
            connection = self._kept() or await self._connect()
            try:
                yield connection
            finally:
                if connection.reusable:
                    self._idle.append((self._loop.time(), connection))
                else:
                    connection.close()

    async def close(self) -> None:
        while self._idle:
            self._idle.pop()[1].close()
        await asyncio.sleep(0)  # the event loop lets go of them in its next turn

    def _kept(self) -> Connection | None:
        """Return a connection that is ready, and close those that nobody needed for long."""
        oldest = self._loop.time() - IDLE
        while self._idle and self._idle[0][0] < oldest:
            self._idle.popleft()[1].close()
        while self._idle:
            _, connection = self._idle.pop()
            if connection.open:
                return connection
        return None

    async def _connect(self) -> Connection:
        to = self._address
        async with asyncio.timeout(self._timeout):
            if to.socket:
                _, made = await self._loop.create_unix_connection(Connection, to.socket)
            else:
                _, made = await self._loop.create_connection(
                    Connection, to.host, to.port, ssl=to.tls
                )
        return made

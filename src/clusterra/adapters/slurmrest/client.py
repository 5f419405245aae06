"""HTTP to one slurmrestd: one way to ask, one way to listen.

Nothing here knows what a job is. A request that reads may be repeated when the
connection breaks; one that acts never is, and its failures are told apart: either
it certainly did not leave (Unreachable), or nobody knows (Unanswered).
"""

import asyncio
import os
import socket
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import msgspec

from clusterra.adapters.slurmrest.connection import Connection, Head, Lost
from clusterra.adapters.slurmrest.pool import Pool, read_address
from clusterra.adapters.slurmrest.tokens import Tokens
from clusterra.core.errors import ClusterraError, Unanswered, Unreachable

RETRIES = (0.1, 0.4)  # seconds before the second and the third try of a read

LONGEST = 256 << 20
"""Bytes of a reply that is taken whole: ten times the nodes of the largest clusters."""

SLOWER = 4
"""A full list may be this many times slower than other requests: slurmrestd thinks for
half a millisecond per job before its first byte (5,000 jobs: 2.5 s)."""

JSON = "application/json"


class TooLong(Lost):
    """The reply is longer than anything Slurm has to say at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    status: int
    json: bool
    """False for the plain text of 401, 404 and the like, and for replies without a body."""
    body: bytes


class Http:
    def __init__(
        self, url: str, tokens: Tokens, *, timeout_seconds: float, connections: int
    ) -> None:
        self.url = url
        self._address = read_address(url)
        self._tokens = tokens
        self._timeout = timeout_seconds
        self._connections = connections
        self._opened: Pool | None = None

    async def ask(
        self,
        method: str,
        path: str,
        *,
        user: str,
        query: Sequence[tuple[str, str]] = (),
        body: Mapping[str, Any] | None = None,
        safe: bool,
    ) -> Reply:
        """Send one request and return the reply, whatever its status."""
        data = b"" if body is None else msgspec.json.encode(body)
        request = self._request(method, path, user, query, data)
        for delay in (*RETRIES, None) if safe else (None,):
            sent = False
            try:
                async with asyncio.timeout(self._timeout), self._pool().connection() as connection:
                    sent = True
                    return await _reply(connection, await connection.send(request))
            except OSError as error:
                # TimeoutError is an OSError: a slurmrestd that hangs is not asked again.
                if delay is None or isinstance(error, TimeoutError | TooLong):
                    raise self._lost(error, unsure=sent and not safe) from error
                await asyncio.sleep(delay)
        raise AssertionError("the last try returns or raises")

    @asynccontextmanager
    async def listen(
        self, path: str, *, user: str, query: Sequence[tuple[str, str]] = ()
    ) -> AsyncIterator["Reply | AsyncIterator[bytes]"]:
        """Open a long reply: its bytes as they arrive, or the whole of it if it is no success."""
        request = self._request("GET", path, user, query, b"")
        patience = self._timeout * SLOWER
        try:
            async with self._pool().connection() as connection:
                async with asyncio.timeout(patience):
                    head = await connection.send(request)
                if head.status == 200 and head.kind == JSON:
                    yield _arriving(connection, patience)
                else:
                    async with asyncio.timeout(patience):
                        reply = await _reply(connection, head)
                    yield reply
        except OSError as error:
            raise self._lost(error, unsure=False) from error

    async def close(self) -> None:
        if self._opened is not None:
            await self._opened.close()
            self._opened = None

    def _pool(self) -> Pool:
        """Return the connections of the running event loop, made when first needed."""
        if self._opened is None or not self._opened.of_this_loop:
            self._opened = Pool(
                self._address, connections=self._connections, timeout_seconds=self._timeout
            )
        return self._opened

    def _request(
        self, method: str, path: str, user: str, query: Sequence[tuple[str, str]], body: bytes
    ) -> bytes:
        asked = f"?{urlencode(query)}" if query else ""
        return (
            f"{method} {self._address.prefix}{path}{asked} HTTP/1.1\r\n"
            f"Host: {self._address.name}\r\n"
            f"X-SLURM-USER-NAME: {user}\r\n"
            f"X-SLURM-USER-TOKEN: {self._tokens.of(user)}\r\n"
            f"Accept: {JSON}\r\n"
            f"Content-Type: {JSON}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        ).encode() + body

    def _lost(self, error: OSError, *, unsure: bool) -> ClusterraError:
        if unsure:
            return Unanswered(
                f"slurmrestd at {self.url} was asked and did not answer ({_words(error)}).",
                hint="It may have done what was asked: look before asking again.",
            )
        return Unreachable(
            f"slurmrestd at {self.url} cannot be reached ({_words(error)}).",
            hint="Check that slurmrestd is running and that its address is right.",
        )


async def _reply(connection: Connection, head: Head) -> Reply:
    body = await _whole(connection)
    return Reply(status=head.status, json=head.kind == JSON and body.strip() != b"", body=body)


async def _whole(connection: Connection) -> bytes:
    parts: list[bytes] = []
    size = 0
    while part := await connection.read():
        parts.append(part)
        size += len(part)
        if size > LONGEST:
            raise TooLong(f"its reply is longer than {LONGEST >> 20} MiB")
    return b"".join(parts)


async def _arriving(connection: Connection, patience: float) -> AsyncGenerator[bytes, None]:
    while True:
        async with asyncio.timeout(patience):
            part = await connection.read()
        if not part:
            return
        yield part


def _words(error: OSError) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if error.errno and not isinstance(error, socket.gaierror | ssl.SSLError):
        return os.strerror(error.errno)  # asyncio's own words name addresses, but no reason
    return error.strerror or str(error) or type(error).__name__

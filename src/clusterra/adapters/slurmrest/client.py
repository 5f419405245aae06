"""HTTP to one slurmrestd: one way to ask, one way to listen.

Nothing here knows what a job is. A request that reads may be repeated when the
connection breaks; one that acts never is, and its failures are told apart: either
it certainly did not leave (Unreachable), or nobody knows (Unanswered).
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import aiohttp
import msgspec
from yarl import URL

from clusterra.adapters.slurmrest.connection import connector
from clusterra.adapters.slurmrest.tokens import Tokens
from clusterra.core.errors import ClusterraError, Unanswered, Unreachable

RETRIES = (0.1, 0.4)  # seconds before the second and the third try of a read
CHUNK = 131072
IDLE = 15  # seconds a connection is kept for the next request

SLOWER = 4
"""A full list may be this many times slower than other requests: slurmrestd thinks for
half a millisecond per job before its first byte (5,000 jobs: 2.5 s)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    status: int
    json: bool
    """False for the plain text of 401, 404 and the like, and for replies without a body."""
    body: bytes


@dataclass(slots=True, eq=False)
class Attempt:
    """How far one try got."""

    sent: bool = False


class Http:
    def __init__(
        self, url: str, tokens: Tokens, *, timeout_seconds: float, connections: int
    ) -> None:
        self.url = url
        self._tokens = tokens
        self._timeout = timeout_seconds
        self._connections = connections
        self._socket = url.removeprefix("unix:") if url.startswith("unix:") else ""
        self._base = "http://localhost" if self._socket else url.rstrip("/")
        self._opened: tuple[asyncio.AbstractEventLoop, aiohttp.ClientSession] | None = None

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
        data = None if body is None else msgspec.json.encode(body)
        for delay in (*RETRIES, None) if safe else (None,):
            attempt = Attempt()
            try:
                async with self._session().request(
                    method,
                    self._address(path, query),
                    data=data,
                    headers=self._headers(user),
                    trace_request_ctx=attempt,
                ) as response:
                    return await _reply(response)
            except (aiohttp.ClientError, OSError) as error:
                # TimeoutError is an OSError: a slurmrestd that hangs is not asked again.
                if delay is None or isinstance(error, TimeoutError):
                    raise self._lost(error, unsure=attempt.sent and not safe) from error
                await asyncio.sleep(delay)
        raise AssertionError("the last try returns or raises")

    @asynccontextmanager
    async def listen(
        self, path: str, *, user: str, query: Sequence[tuple[str, str]] = ()
    ) -> AsyncIterator["Reply | AsyncIterator[bytes]"]:
        """Open a long reply: its bytes as they arrive, or the whole of it if it is no success."""
        patience = aiohttp.ClientTimeout(
            sock_connect=self._timeout, sock_read=self._timeout * SLOWER
        )
        try:
            async with self._session().get(
                self._address(path, query), headers=self._headers(user), timeout=patience
            ) as response:
                if response.status == 200 and _is_json(response):
                    yield response.content.iter_chunked(CHUNK)
                else:
                    yield await _reply(response)
        except (aiohttp.ClientError, OSError) as error:
            raise self._lost(error, unsure=False) from error

    async def close(self) -> None:
        if self._opened is not None:
            _, session = self._opened
            self._opened = None
            await session.close()

    def _session(self) -> aiohttp.ClientSession:
        """Return the session of the running event loop, made when first needed."""
        loop = asyncio.get_running_loop()
        if self._opened is None or self._opened[0] is not loop:
            trace = aiohttp.TraceConfig()
            trace.on_request_headers_sent.append(_note_sent)
            session = aiohttp.ClientSession(
                connector=connector(self._socket, connections=self._connections, idle_seconds=IDLE),
                timeout=aiohttp.ClientTimeout(total=self._timeout),
                trace_configs=[trace],
            )
            # aiohttp repeats a GET or DELETE by itself when the connection breaks, and requeueing
            # a job is a GET to slurmrestd. There is no public switch; a test counts the requests.
            session._retry_connection = False  # noqa: SLF001
            self._opened = loop, session
        return self._opened[1]

    def _address(self, path: str, query: Sequence[tuple[str, str]]) -> URL:
        address = URL(self._base + path)
        return address.with_query(query) if query else address

    def _headers(self, user: str) -> dict[str, str]:
        return {
            "X-SLURM-USER-NAME": user,
            "X-SLURM-USER-TOKEN": self._tokens.of(user),
            "Content-Type": "application/json",
        }

    def _lost(self, error: Exception, *, unsure: bool) -> ClusterraError:
        if unsure:
            return Unanswered(
                f"slurmrestd at {self.url} was asked and did not answer ({_words(error)}).",
                hint="It may have done what was asked: look before asking again.",
            )
        return Unreachable(
            f"slurmrestd at {self.url} cannot be reached ({_words(error)}).",
            hint="Check that slurmrestd is running and that its address is right.",
        )


async def _note_sent(
    _session: aiohttp.ClientSession, context: SimpleNamespace, _facts: object
) -> None:
    attempt = context.trace_request_ctx
    if isinstance(attempt, Attempt):
        attempt.sent = True


async def _reply(response: aiohttp.ClientResponse) -> Reply:
    body = await response.read()
    return Reply(status=response.status, json=_is_json(response) and body.strip() != b"", body=body)


def _is_json(response: aiohttp.ClientResponse) -> bool:
    return response.content_type == "application/json"


def _words(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, aiohttp.ClientConnectorError):
        return error.os_error.strerror or str(error.os_error)
    return str(error) or type(error).__name__

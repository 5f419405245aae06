"""Connections that end when we want them to, and that tell what they did."""

import asyncio
import functools
import ssl
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.http_exceptions import BadHttpMessage

from clusterra.adapters.sender.dial import DIAL
from clusterra.adapters.sender.guard import Guard
from clusterra.adapters.sender.names import Names

if TYPE_CHECKING:
    from aiohttp.client_reqrep import ClientRequest
    from aiohttp.tracing import Trace

PER_HOST = 64
"""Connections; as many as deliveries are under way at a time, so that none waits for another."""

_KEPT_SECONDS = 20.0
_HEARD = 262_144
"""Bytes of an answer, whatever they are, before the connection is given up. What is read of a body
is bounded elsewhere; this is for what stands around it, as the extensions of chunks."""

_PIECE = 4_096
_INTERIM = 32
"""Most 1xx answers before the one that counts. Without a bound, a far side that sends nothing
else keeps a processor busy until the delivery's time is over."""


class EndlessInterim(BadHttpMessage):
    """Nothing but 1xx."""


class Handler(ResponseHandler):
    heard = 0
    interim = 0
    lost: BaseException | None = None
    """Why it ended, if it did not end well."""

    begun = False
    """The status is known."""

    remote = ""
    """The address at the other end."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.remote = str((transport.get_extra_info("peername") or ("",))[0])

    def start(self) -> None:
        """Be ready for the answer to another request."""
        self.heard = self.interim = 0
        self.begun = False

    def data_received(self, data: bytes) -> None:
        first, self.heard = not self.heard, self.heard + len(data)
        head = data.find(b"\r\n\r\n") + 4 if first else 0
        if self.begun or head == len(data):
            super().data_received(data)
        else:
            self._begin(data, head)
        if self.heard > _HEARD:
            self.abort()

    def _begin(self, data: bytes, head: int) -> None:
        """Take in what may hold the status, in pieces.

        The head by itself, so that nonsense right behind it does not take the status with it;
        then little at a time, for each 1xx weighs much more than it is long.
        """
        begin, end = 0, head if head >= 4 else _PIECE
        while True:
            super().data_received(data[begin:end])
            if len(self) > _INTERIM:
                self.abort()
            if end >= len(data) or self.transport is None or self.exception() is not None:
                return
            begin, end = end, end + _PIECE

    def connection_lost(self, exc: BaseException | None) -> None:
        self.lost = exc
        super().connection_lost(exc)

    async def read(self) -> Any:
        said = await super().read()
        if said[0].code < 200:
            self.interim += 1
            if self.interim > _INTERIM:
                raise EndlessInterim("too many 1xx")
        else:
            self.begun = True
        return said

    def close(self) -> None:
        # Closing politely waits until the far side has taken what we had to say, which a far
        # side that reads nothing never does.
        self.abort()


class Connector(aiohttp.TCPConnector):
    def __init__(self, guard: Guard, names: Names, trust: ssl.SSLContext) -> None:
        super().__init__(
            resolver=names,
            socket_factory=guard.socket,
            ssl=trust,
            # Each new connection asks again, so that what a name leads to is judged as it is now.
            use_dns_cache=False,
            limit=0,
            limit_per_host=PER_HOST,
            keepalive_timeout=_KEPT_SECONDS,
        )
        loop = asyncio.get_running_loop()
        self._factory = functools.partial(cast("type[ResponseHandler]", Handler), loop=loop)

    async def connect(
        self,
        req: "ClientRequest",
        traces: "list[Trace]",
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109  the library's own word
    ) -> Connection:
        dial = DIAL.get()
        while True:
            connection = await super().connect(req, traces, timeout)
            dial.ready = perf_counter()
            dial.reused = not dial.dialled
            handler = connection.protocol
            assert isinstance(handler, Handler)
            # One that was kept may hold an answer that nobody asked for.
            if not dial.reused or not (dial.fresh or len(handler)):
                break
            connection.close()
        handler.start()
        dial.handler = handler
        dial.remote = handler.remote
        return connection


class _Trust(ssl.SSLContext):
    def wrap_bio(self, *args: Any, **kwargs: Any) -> ssl.SSLObject:
        dial = DIAL.get(None)
        if dial is not None:
            dial.securing = perf_counter()
        return super().wrap_bio(*args, **kwargs)


@functools.cache
def trust(authorities: str) -> ssl.SSLContext:
    """Return whom we believe: the machine's own authorities, and those in this PEM text."""
    made = _Trust(ssl.PROTOCOL_TLS_CLIENT)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    made.load_default_certs()
    if authorities:
        made.load_verify_locations(cadata=authorities)
    made.set_alpn_protocols(["http/1.1"])
    return made

"""Sends deliveries, and survives whoever receives them.

Nothing that the far side does raises, takes longer than the settings say or makes us read more
than is kept. The status is the answer: what follows it is read for a moment, so that a
connection can be used again, and left alone if it does not end.
"""

from collections.abc import Collection, Iterable
from functools import lru_cache
from time import perf_counter

import aiohttp
from yarl import URL

from clusterra.adapters.sender.connector import Connector, trust
from clusterra.adapters.sender.deadline import Deadline
from clusterra.adapters.sender.dial import DIAL, Dial, Stopped
from clusterra.adapters.sender.failures import CONNECT, failure_of
from clusterra.adapters.sender.guard import Guard, OpenSocket, open_socket
from clusterra.adapters.sender.names import Lookup, Names, Threads
from clusterra.core.errors import Invalid
from clusterra.core.webhooks.addresses import listed
from clusterra.core.webhooks.endpoint import Reach
from clusterra.core.webhooks.exchange import SNIPPET, Answer, Failure, Outgoing
from clusterra.core.webhooks.url import read_url, unsent

_READ = 16_384
"""Bytes of a body that are read; a longer one costs its connection."""

_LINGER = 0.5
"""Seconds that a body may take once the status is known."""

_HEAD = 8_190
_MEANT = ("retry-after", "location", "webhook-delivery", "content-type")
_LONGEST_HEADER = 2_048
_URLS = 4_096


class HttpSender:
    """The only way out to addresses that others have chosen.

    `private` is the operator's list, `own` where our own door is (`0.0.0.0` for every address),
    `authorities` PEM text of who may sign certificates besides those the machine knows.
    """

    def __init__(
        self,
        *,
        private: Iterable[str] = (),
        timeout_seconds: float = 15,
        own: Collection[tuple[str, int]] = (),
        proxy: str = "",
        authorities: str = "",
        lookup: Lookup | None = None,
        opening: OpenSocket = open_socket,
    ) -> None:
        names = listed(private)
        self._read = lru_cache(_URLS)(lambda url, reach: read_url(url, reach, names))
        self._timeout = timeout_seconds
        self._proxy = URL(proxy) if proxy else None
        self._threads = Threads()
        self._guard = Guard(names, own, opening)
        self._names = Names(self._guard, lookup or self._threads)
        self._trust = trust(authorities)
        self._sessions: dict[Reach, aiohttp.ClientSession] = {}
        """One per reach: a connection that one endpoint may have is not kept for another."""

    async def check(self, url: str, reach: Reach) -> None:
        await self._lead(Dial(self._read(url, reach), reach, proxied=False))

    async def send(self, outgoing: Outgoing) -> Answer:
        try:
            target = self._read(outgoing.url, outgoing.reach)
        except Invalid as error:
            return unsent(error)
        dial = Dial(target, outgoing.reach, proxied=self._proxy is not None)
        token = DIAL.set(dial)
        try:
            return await self._exchange(outgoing, dial)
        finally:
            DIAL.reset(token)

    async def close(self) -> None:
        sessions, self._sessions = list(self._sessions.values()), {}
        for session in sessions:
            await session.close()
        self._threads.close()

    async def _exchange(self, outgoing: Outgoing, dial: Dial) -> Answer:
        reply: aiohttp.ClientResponse | None = None
        answered = 0.0
        body = bytearray()
        try:
            with Deadline(self._timeout) as deadline:
                if dial.proxied:
                    await self._lead(dial)
                reply = await self._post(outgoing, dial)
                answered = perf_counter()
                if not reply.content.at_eof():
                    deadline.bring_forward(_LINGER)
                    await _taste(reply, body)
        except Exception as error:  # noqa: BLE001  the far side decides what is raised
            if reply is None:
                await dial.last_words()
                failure, why = failure_of(error, dial, self._timeout)
                return Answer(failure=failure, why=why, timings=dial.timings(0), remote=dial.remote)
        finally:
            # Whoever came to the end of the body has given the connection back already.
            if reply is not None and not reply.closed:
                reply.close()
        return Answer(
            status=reply.status,
            headers=_meant(reply),
            snippet=bytes(body[:SNIPPET]),
            timings=dial.timings(answered),
            remote=dial.remote,
        )

    async def _post(self, outgoing: Outgoing, dial: Dial) -> aiohttp.ClientResponse:
        session = self._sessions.get(outgoing.reach) or self._open(outgoing.reach)
        url = URL(dial.target.url, encoded=True)
        try:
            return await session.post(
                url, data=outgoing.body, headers=outgoing.headers, allow_redirects=False
            )
        except aiohttp.ClientConnectionError:
            # It had closed a connection that we kept, before it heard us. This happens to
            # honest servers too, so it is no attempt.
            if not dial.reused or dial.heard or dial.stopped:
                raise
        dial.again()
        return await session.post(
            url, data=outgoing.body, headers=outgoing.headers, allow_redirects=False
        )

    async def _lead(self, dial: Dial) -> None:
        try:
            await self._names.lead(dial)
        except Stopped as stopped:
            # Behind a proxy, names of the outside are often known to the proxy alone.
            if self._proxy is not None and stopped.failure is Failure.DNS:
                dial.stopped = None
                return
            if not dial.proxied:
                raise stopped.error from None
            raise

    def _open(self, reach: Reach) -> aiohttp.ClientSession:
        session = self._sessions[reach] = aiohttp.ClientSession(
            connector=Connector(self._guard, self._names, self._trust),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=min(CONNECT, self._timeout)),
            headers={"accept-encoding": "identity"},
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
            proxy=self._proxy,
            read_bufsize=_READ,
            max_line_size=_HEAD,
            max_field_size=_HEAD,
        )
        return session


async def _taste(reply: aiohttp.ClientResponse, body: bytearray) -> None:
    """Read until the end, or as much as we care for; what has come stays in `body`."""
    while len(body) < _READ:
        part = await reply.content.read(_READ - len(body))
        if not part:
            return
        body += part


def _meant(reply: aiohttp.ClientResponse) -> dict[str, str]:
    found = {}
    for name in _MEANT:
        value = reply.headers.get(name)
        if value is not None:
            # Bytes that are no text come as lone surrogates, which nothing after us can write.
            found[name] = value[:_LONGEST_HEADER].encode(errors="replace").decode()
    return found

"""From the name of a host to addresses that may be dialled.

Whoever makes an endpoint may run its name server too, and have it answer slowly. So names are
looked up within a time of their own, in threads of their own (everybody else's work waits for
the default ones), and one name takes one thread however many ask for it.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter

from aiohttp.abc import AbstractResolver, ResolveResult

from clusterra.adapters.sender.dial import DIAL, Dial
from clusterra.adapters.sender.guard import Guard
from clusterra.core.errors import Invalid
from clusterra.core.webhooks.exchange import Failure
from clusterra.core.webhooks.url import unknown_name

PATIENCE = 5.0
"""Seconds for a name."""

_TRIED = 8
"""Most addresses of one name that are dialled; all are judged."""

_THREADS = 16
_UNKNOWN = frozenset({socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)})

Lookup = Callable[[str], Awaitable[Sequence[str]]]
"""From a name to its addresses. Raises OSError, `socket.gaierror` if there are none."""


class Threads:
    """The machine's own way to look names up."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="names")
        self._under_way: dict[str, asyncio.Future[Sequence[str]]] = {}

    async def __call__(self, host: str) -> Sequence[str]:
        asking = self._under_way.get(host)
        if asking is None:
            loop = asyncio.get_running_loop()
            asking = loop.run_in_executor(self._threads, _ask, host)
            self._under_way[host] = asking
            asking.add_done_callback(lambda done: self._forget(host, done))
        return await asyncio.shield(asking)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _forget(self, host: str, done: asyncio.Future[Sequence[str]]) -> None:
        self._under_way.pop(host, None)
        if not done.cancelled():
            done.exception()  # whoever asked may have gone


def _ask(host: str) -> Sequence[str]:
    # Without AI_ADDRCONFIG: an answer that this machine could not use is judged as well.
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(each[4][0]) for each in found))


class Names(AbstractResolver):
    """What the library asks for addresses."""

    def __init__(self, guard: Guard, lookup: Lookup) -> None:
        self._guard = guard
        self._lookup = lookup

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        dial = DIAL.get()
        dial.naming = perf_counter()
        found = await self._addresses(dial, host)
        dial.named = perf_counter()
        if not dial.proxied:
            self._guard.admit(dial, found)
        return [
            ResolveResult(hostname=host, host=address, port=port, family=family, proto=0, flags=0)
            for address in found[:_TRIED]
        ]

    async def lead(self, dial: Dial) -> None:
        """Raise Stopped if the target may not be dialled, without dialling it."""
        host = dial.target.host
        self._guard.admit(
            dial, [host] if dial.target.literal else await self._addresses(dial, host)
        )

    async def close(self) -> None: ...

    async def _addresses(self, dial: Dial, host: str) -> Sequence[str]:
        try:
            async with asyncio.timeout(PATIENCE):
                found = await self._lookup(host)
        except TimeoutError:
            raise dial.stop(Failure.DNS, _slow(host)) from None
        except socket.gaierror as error:
            known = error.errno not in _UNKNOWN
            raise dial.stop(Failure.DNS, _failing(host) if known else unknown_name(host)) from None
        except (OSError, UnicodeError):
            raise dial.stop(Failure.DNS, _failing(host)) from None
        if not found:
            raise dial.stop(Failure.DNS, unknown_name(host))
        return found


def _failing(host: str) -> Invalid:
    return Invalid(
        f"The name {host} could not be looked up: its name server has no answer.",
        hint="Try again in a minute.",
        code="unknown-host",
        at="url",
    )


def _slow(host: str) -> Invalid:
    return Invalid(
        f"The name {host} could not be looked up within {PATIENCE:g} s.",
        hint="Try again in a minute.",
        code="unknown-host",
        at="url",
    )

"""What a case is made of: the acts of a server, and what is to come of them."""

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass

from clusterra.core.webhooks.exchange import Failure
from tests.adapters.sender.hostile import Peer, Script, Serving, serving

TIMEOUT = 2.0
OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    name: str
    place: Serving
    status: int | None = None
    failure: Failure | None = None
    why: str = ""
    secure: bool = False


def says(*parts: bytes, then: Script = Peer.silence) -> Serving:
    """A server that hears a request, says this and does something else then."""

    async def script(peer: Peer) -> None:
        await peer.hear()
        for part in parts:
            await peer.say(part)
        await then(peer)

    return lambda: serving(script)


def plays(script: Script, tls: Callable[[], ssl.SSLContext] | None = None) -> Serving:
    return lambda: serving(script, tls=tls or (lambda: None))


def for_ever(data: bytes, every: float = 0) -> Script:
    return lambda peer: peer.say_for_ever(data, every)


async def resets(peer: Peer) -> None:
    peer.reset()


async def resets_when_greeted(peer: Peer) -> None:
    await peer.hear_something()
    peer.reset()


async def ends(peer: Peer) -> None:
    """Close as one should."""


async def spells_out(peer: Peer) -> None:
    await peer.hear()
    for letter in OK + b"Content-Type: text/plain\r\n" * 20:
        await peer.say(bytes([letter]))
        await asyncio.sleep(0.05)


async def answers_well(peer: Peer) -> None:
    while True:
        await peer.hear()
        await peer.say(OK + b"Content-Length: 2\r\n\r\nok")


async def bursts(peer: Peer) -> None:
    """Hear nothing, and send at once."""
    await peer.say(b"\x00\xff\xfe garbage \x80" * 20)
    await peer.silence()


def answer(status: str, *headers: str, body: bytes = b"") -> bytes:
    head = "".join(f"{each}\r\n" for each in (*headers, f"Content-Length: {len(body)}"))
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode("latin-1") + body

"""Many who listen at once: raw sockets, and as little else as possible."""

import asyncio
import time
from dataclasses import dataclass, field
from datetime import datetime

import uvloop

_TIME = b'"time":"'
_LENGTH = len("2026-03-02T12:00:00.000000Z")


@dataclass(slots=True)
class Heard:
    """What all of them heard."""

    missing: int
    """How many have not heard anything yet."""
    all_open: asyncio.Event = field(default_factory=asyncio.Event)
    counting: bool = False
    delays: list[float] = field(default_factory=list)
    """Seconds from when an event happened to when one of them had it."""

    def opened(self) -> None:
        self.missing -= 1
        if self.missing == 0:
            self.all_open.set()


class Listener(asyncio.Protocol):
    def __init__(self, heard: Heard, mark: bytes) -> None:
        self._heard = heard
        self._mark = mark
        self._rest = b""
        self._is_open = False

    def data_received(self, data: bytes) -> None:
        now = time.time()
        if not self._is_open:
            self._is_open = True
            self._heard.opened()
        *whole, self._rest = (self._rest + data).split(b"\n\n")
        if not self._heard.counting:
            return
        for frame in whole:
            if (start := frame.find(self._mark)) > 0:
                start += len(self._mark)
                said = frame[start : start + _LENGTH].partition(b'"')[0].decode()
                self._heard.delays.append(now - datetime.fromisoformat(said).timestamp())


async def _listen(
    port: int, path: str, token: str, *, readers: int, seconds: float, mark: bytes
) -> list[float]:
    lines = (
        f"GET {path} HTTP/1.1",
        f"host: 127.0.0.1:{port}",
        f"authorization: Bearer {token}",
        "accept: text/event-stream",
    )
    request = "\r\n".join([*lines, "", ""]).encode()
    loop = asyncio.get_running_loop()
    heard = Heard(missing=readers)
    transports = []
    for _ in range(readers):
        made, _ = await loop.create_connection(lambda: Listener(heard, mark), "127.0.0.1", port)
        made.write(request)
        transports.append(made)
    await asyncio.wait_for(heard.all_open.wait(), 60)
    await asyncio.sleep(1)
    heard.counting = True
    await asyncio.sleep(seconds)
    heard.counting = False
    for transport in transports:
        transport.abort()
    return heard.delays


def listen(
    port: int, path: str, token: str, *, readers: int, seconds: float, mark: bytes = _TIME
) -> list[float]:
    """Return how long each event took to each reader, in seconds: since the time after `mark`."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_listen(port, path, token, readers=readers, seconds=seconds, mark=mark))

"""Whoever receives webhooks, as quick as one can be: takes the time of every arrival.

    python -m bench.receiver

    POST /hook/N     taken down with its `webhook-id`, and answered with 204
    POST /hang       heard, and never answered
    GET  /count      how many have arrived since the last `/arrivals`, none of them twice
    GET  /arrivals   when each of them first arrived, by path and id; then they are forgotten

A process of its own, on a bare protocol, so that a sender never waits for it. Times are of the
clock that all processes of a machine share. Prints its port, and serves until its input ends.
"""

import asyncio
import json
import sys
import threading
import time
from typing import cast

import uvloop

_TAKEN = b"HTTP/1.1 204 No Content\r\n\r\n"


class Arrivals:
    def __init__(self) -> None:
        self._first: dict[str, dict[str, float]] = {}
        self._number = 0

    def note(self, path: str, id: str, at: float) -> None:
        first = self._first.setdefault(path, {})
        if id not in first:
            first[id] = at
            self._number += 1

    def answer(self, path: str) -> bytes:
        said = json.dumps(self._number if path == "/count" else self._first).encode()
        if path == "/arrivals":
            self._first, self._number = {}, 0
        return b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(said), said)


class Receiving(asyncio.Protocol):
    def __init__(self, arrivals: Arrivals) -> None:
        self._arrivals = arrivals
        self._heard = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's only looks like one

    def data_received(self, data: bytes) -> None:
        at = time.monotonic()
        self._heard += data
        head, end, body = self._heard.partition(b"\r\n\r\n")
        if not end:
            return
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): text for name, _, text in (each.partition(": ") for each in lines)}
        if len(body) < int(headers.get("content-length", 0)):
            return
        self._heard = b""
        method, path, _ = first.split(" ")
        if method == "GET":
            self._transport.write(self._arrivals.answer(path))
            return
        if path != "/hang":
            self._arrivals.note(path, headers.get("webhook-id", ""), at)
            self._transport.write(_TAKEN)


async def serve() -> None:
    loop, arrivals, over = asyncio.get_running_loop(), Arrivals(), asyncio.Event()
    server = await loop.create_server(lambda: Receiving(arrivals), "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)

    def stop_with_the_input() -> None:
        sys.stdin.read()
        loop.call_soon_threadsafe(over.set)

    threading.Thread(target=stop_with_the_input, daemon=True).start()
    await over.wait()


def main() -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve())


if __name__ == "__main__":
    main()

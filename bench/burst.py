"""Post as fast as a server answers, over some connections, and say how many a second.

A process of its own, on a bare protocol: beside a server that takes ten thousand requests
a second, an ordinary client would be what is measured.
"""

import argparse
import asyncio
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import cast
from urllib.parse import urlsplit

import uvloop

BODY = (
    '{"ts":"TIME","event":"job.allocated","job_id":"JOB","restarts":"0",'
    '"name":"align-and-sort-the-samples","user":"ana","account":"lab","partition":"main",'
    '"nodes":"worker-[1-4]","started_at":"1794799395","tenant_id":"ten_0123456789",'
    '"cluster_id":"cluslab1"}'
)


class Posting(asyncio.Protocol):
    """One connection: the next request leaves when the answer to the last has come."""

    def __init__(self, requests: Iterator[bytes], done: "asyncio.Future[int]") -> None:
        self._requests = requests
        self._done = done
        self._answered = 0
        self._heard = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's only looks like one
        self._next()

    def data_received(self, data: bytes) -> None:
        self._heard += data
        head, end, body = self._heard.partition(b"\r\n\r\n")
        if not end or len(body) < _length(head):
            return
        if not head.startswith(b"HTTP/1.1 200"):
            self._finish(RuntimeError(self._heard.decode()[:500]))
            return
        self._heard = b""
        self._answered += 1
        self._next()

    def connection_lost(self, exc: Exception | None) -> None:
        self._finish(exc or ConnectionError("The server hung up."))

    def _next(self) -> None:
        request = next(self._requests, None)
        if request is None:
            self._finish(None)
        else:
            self._transport.write(request)

    def _finish(self, error: Exception | None) -> None:
        if not self._done.done():
            if error:
                self._done.set_exception(error)
            else:
                self._done.set_result(self._answered)
            self._transport.close()


def _length(head: bytes) -> int:
    lower = head.lower()
    at = lower.index(b"content-length:") + len(b"content-length:")
    return int(lower[at : lower.find(b"\r\n", at) if b"\r\n" in lower[at:] else None])


def requests(path: str, headers: str, *, first: int, until: float) -> Iterator[bytes]:
    """Yield facts about ever new jobs until time is up."""
    job = first
    while time.perf_counter() < until:
        body = BODY.replace("JOB", str(job)).replace("TIME", datetime.now(UTC).isoformat())
        head = f"POST {path} HTTP/1.1\r\nhost: x\r\n{headers}content-length: {len(body)}\r\n\r\n"
        yield (head + body).encode()
        job += 1


async def burst(url: str, headers: str, *, first: int, seconds: float, connections: int) -> float:
    parts = urlsplit(url)
    loop = asyncio.get_running_loop()
    began = time.perf_counter()
    coming = requests(parts.path, headers, first=first, until=began + seconds)
    finished = []
    for _ in range(connections):
        done: asyncio.Future[int] = loop.create_future()
        finished.append(done)
        await loop.create_connection(
            lambda done=done: Posting(coming, done),  # type: ignore[misc]
            parts.hostname or "",
            parts.port or 0,
        )
    answered = sum(await asyncio.gather(*finished))
    return answered / (time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.burst")
    parser.add_argument("url")
    parser.add_argument("--header", action="append", default=[])
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--connections", type=int, default=32)
    said = parser.parse_args()
    headers = "".join(f"{each}\r\n" for each in said.header)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        rate = runner.run(
            burst(
                said.url,
                headers,
                first=said.first,
                seconds=said.seconds,
                connections=said.connections,
            )
        )
    print(rate)


if __name__ == "__main__":
    main()

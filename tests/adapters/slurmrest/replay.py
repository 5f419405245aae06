"""Recorded replies, and a slurmrestd on loopback that says what a test tells it to."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from clusterra.adapters.slurmrest import SlurmRest
from clusterra.adapters.slurmrest.client import Reply
from clusterra.adapters.slurmrest.stream import Piece
from tests.builders import NOON

RECORDINGS = Path(__file__).parents[2] / "recordings" / "slurmrest"
KEY = b"0123456789abcdef0123456789abcdef"

SPOKEN = [
    ("26.05", "v0.0.45"),
    ("26.05", "v0.0.44"),
    ("26.05", "v0.0.43"),
    ("26.05", "v0.0.42"),
    ("24.11", "v0.0.42"),
]
NEWEST = [("26.05", "v0.0.45"), ("24.11", "v0.0.42")]


def recording(release: str, version: str, name: str) -> Reply:
    head, body = (RECORDINGS / release / version / f"{name}.http").read_bytes().split(b"\n\n", 1)
    status, kind = head.decode().split(" ", 1)
    return Reply(status=int(status), json=kind == "application/json", body=body)


def elements(reply: Reply, name: str) -> list[Piece]:
    members = msgspec.json.decode(reply.body, type=dict[str, msgspec.Raw])
    return list(msgspec.json.decode(members[name], type=list[msgspec.Raw]))


class StoppedClock:
    def __init__(self, now: datetime = NOON) -> None:
        self.time = now

    def now(self) -> datetime:
        return self.time


@dataclass
class Request:
    method: str
    path: str
    """With the query."""
    headers: dict[str, str]
    body: bytes


Answer = Callable[[Request, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class FakeSlurmrestd:
    """Raw sockets, so that it can misbehave in every way a server can."""

    url: str = ""
    requests: list[Request] = field(default_factory=list)
    connections: int = 0
    answers: dict[str, Answer] = field(default_factory=dict)
    """By `METHOD /path`, the query left out."""

    def on(self, what: str, answer: Answer) -> None:
        self.answers[what] = answer

    def asked(self, what: str) -> int:
        return sum(f"{each.method} {each.path.partition('?')[0]}" == what for each in self.requests)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while request := await _read(reader):
                self.requests.append(request)
                name = f"{request.method} {request.path.partition('?')[0]}"
                await self.answers.get(name, unknown_path)(request, writer)
                await writer.drain()
                if writer.is_closing():
                    return
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()


async def _read(reader: asyncio.StreamReader) -> Request | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
    except asyncio.IncompleteReadError:
        return None
    first, *rest = head.strip().split("\r\n")
    method, path, _ = first.split(" ")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in rest)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(method=method, path=path, headers=headers, body=body)


def raw(status: int, body: bytes, kind: str = "application/json", *, close: bool = False) -> bytes:
    closing = "Connection: Close\r\n" if close else ""
    head = f"HTTP/1.1 {status} X\r\n{closing}Content-Length: {len(body)}\r\nContent-Type: {kind}"
    return f"{head}\r\n\r\n".encode() + body


def says(body: dict[str, Any] | bytes, status: int = 200) -> Answer:
    text = body if isinstance(body, bytes) else msgspec.json.encode(body)

    async def answer(_request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(raw(status, text))

    return answer


def replays(reply: Reply) -> Answer:
    kind = "application/json" if reply.json else "text/plain"

    async def answer(_request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(raw(reply.status, reply.body, kind))

    return answer


async def unknown_path(_request: Request, writer: asyncio.StreamWriter) -> None:
    writer.write(raw(404, b"Unable find requested URL.", "text/plain", close=True))
    await writer.drain()
    writer.close()


async def hangs_up(_request: Request, writer: asyncio.StreamWriter) -> None:
    writer.close()


DIAG = {"statistics": {}, "meta": {"slurm": {"release": "26.05.5", "cluster": "dev"}}, "errors": []}


@asynccontextmanager
async def fake_slurmrestd(*versions: str) -> AsyncIterator[FakeSlurmrestd]:
    """Serve on loopback; offers the versions given, v0.0.45 if none is."""
    fake = FakeSlurmrestd()
    for version in versions or ("v0.0.45",):
        fake.on(f"GET /slurm/{version}/diag/", says(DIAG))
    server = await asyncio.start_server(fake.serve, "127.0.0.1", 0)
    fake.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield fake
    finally:
        server.close()


@asynccontextmanager
async def talking_to(url: str, **settings: Any) -> AsyncIterator[SlurmRest]:
    slurm = SlurmRest(url, KEY, **{"clock": StoppedClock(), "timeout_seconds": 5, **settings})
    try:
        yield slurm
    finally:
        await slurm.close()

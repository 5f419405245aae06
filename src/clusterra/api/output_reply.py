"""Answers that go on: a file of any length, and a live stream.

Both write past the layers that other answers go through: a file comes in thousands of pieces, and a
live stream may have hundreds of readers.
"""

import asyncio
from contextlib import aclosing
from dataclasses import dataclass

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from clusterra.api.door import SERVERS_SEND
from clusterra.api.sse import PART, Manner, Stream, gone
from clusterra.ports import Log

TYPE = "text/plain; charset=utf-8"

BYTES = Manner(
    headers=[
        (b"content-type", TYPE.encode()),
        (b"cache-control", b"no-store"),
        (b"x-accel-buffering", b"no"),
        (b"x-content-type-options", b"nosniff"),
    ]
)
"""A live stream that is nothing but what the file has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """From where to where in a file of that size."""

    start: int
    stop: int
    size: int
    is_range: bool = False
    """It was asked for as a range, and is answered as one."""

    def headers(self) -> dict[str, str]:
        shown = f"{self.start}-{self.stop - 1}" if self.stop > self.start else "*"
        return {
            "content-length": str(self.stop - self.start),
            "content-range": f"bytes {shown}/{self.size}",
            "accept-ranges": "bytes",
            # Whatever it is, no browser is to take it for a page of ours.
            "x-content-type-options": "nosniff",
            "cache-control": "no-store",
        }


class FileReply(Response):
    """Part of a file as it was when it was opened; breaks off if that is gone meanwhile."""

    def __init__(self, log: Log, part: Part) -> None:
        super().__init__(None, 206 if part.is_range else 200, part.headers(), TYPE)
        self._log = log
        self._part = part

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        write, left = scope[SERVERS_SEND], self._part.stop - self._part.start
        leaving = asyncio.create_task(gone(receive))
        try:
            await send(
                {
                    "type": "http.response.start",
                    "status": self.status_code,
                    "headers": self.raw_headers,
                }
            )
            if left == 0:
                await write({"type": PART})
                return
            async with aclosing(self._log.pieces(self._part.start, self._part.stop)) as pieces:
                async for piece in pieces:
                    if leaving.done():
                        return  # writing to nobody would go on to the end
                    left -= len(piece)
                    await write({"type": PART, "body": piece, "more_body": left > 0})
        finally:
            leaving.cancel()
            self._log.close()


class LiveReply(Response):
    def __init__(self, stream: Stream) -> None:
        super().__init__()
        self._stream = stream

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._stream.run(receive, send, write=scope[SERVERS_SEND])

"""What an agent serves: that it lives, and what jobs have written.

    GET /healthz                              200, empty; asks for no key
    GET /logs/{job}?stream=stdout|stderr      the whole file
    GET /logs/{job}/stream?stream=…           server-sent events, as it is written

As the public agent answers them, so that a control plane need not know which one it asks. Unlike
that one it takes a `Range`, tells by `ETag` which file it is, and with `Prefer: wait=N` answers a range
that begins where the file ends when there is more of it, or after so many seconds.
"""

import asyncio
import hmac
import os
import re
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path

from aiohttp import web

from clusterra.agent.logs import KEEP_ALIVE, PIECE, SELDOM, SOON, Log, follow, log_of, open_log
from clusterra.core.byte_range import byte_range
from clusterra.core.errors import ClusterraError, Invalid

LONGEST_WAIT = 20.0
_WAIT = re.compile(r"\bwait=(\d{1,3}(?:\.\d{1,3})?)\b")

LAST_REQUESTS = 1.0
"""Seconds that answers under way are given when the agent stops; streams never end by themselves."""


class Door:
    def __init__(
        self, base: Path, key: Callable[[], str], *, keep_alive: float = KEEP_ALIVE
    ) -> None:
        self._base = base
        self._key = key
        self._keep_alive = keep_alive
        app = web.Application()
        app.router.add_get("/healthz", _healthy, allow_head=False)
        app.router.add_get("/logs/{rest:.*}", self._logs, allow_head=False)
        self._runner = web.AppRunner(
            app, access_log=None, handler_cancellation=True, shutdown_timeout=LAST_REQUESTS
        )

    async def open(self, host: str, port: int) -> int:
        """Listen, and return on which port. Raises OSError."""
        await self._runner.setup()
        await web.TCPSite(self._runner, host, port).start()
        return int(self._runner.addresses[0][1])

    async def close(self) -> None:
        await self._runner.cleanup()

    async def _logs(self, request: web.Request) -> web.StreamResponse:
        try:
            key = self._key()
        except ClusterraError as error:
            raise web.HTTPServiceUnavailable(text=error.detail) from None
        given = request.headers.get("X-Agent-Key", "")
        if key and not hmac.compare_digest(given.encode(), key.encode()):
            raise web.HTTPUnauthorized(text="The header X-Agent-Key is missing or wrong.")
        job = request.match_info["rest"]
        streamed = job.endswith("/stream")
        try:
            stream = request.query.get("stream") or "stdout"
            log = log_of(self._base, job.removesuffix("/stream"), stream)
        except Invalid as error:
            raise web.HTTPBadRequest(text=f"{error.detail} {error.hint}") from None
        return await (self._stream(request, log) if streamed else self._whole(request, log))

    async def _whole(self, request: web.Request, log: Log) -> web.StreamResponse:
        try:
            descriptor = await asyncio.to_thread(open_log, log)
        except OSError as error:
            raise web.HTTPInternalServerError(
                text=f"The log cannot be read: {error.strerror}."
            ) from None
        if descriptor is None:
            raise web.HTTPNotFound(text="log not found")
        with os.fdopen(descriptor, "rb") as file:
            response, start, stop = await _begun(request, file.fileno())
            file.seek(start)
            response.content_length = left = stop - start
            await response.prepare(request)
            while left and (data := await asyncio.to_thread(file.read, min(left, PIECE))):
                left -= len(data)
                await response.write(data)
        return response

    async def _stream(self, request: web.Request, log: Log) -> web.StreamResponse:
        response = web.StreamResponse(
            headers={
                "Content-Type": "text/event-stream",
                "Cache-Control": "no-store",
                "X-Accel-Buffering": "no",
            }
        )
        await response.prepare(request)
        async with aclosing(follow(log, keep_alive=self._keep_alive)) as events:
            async for each in events:
                await response.write(each)
        return response


async def _begun(request: web.Request, file: int) -> tuple[web.StreamResponse, int, int]:
    """Return the answer, and from where to where the file is sent with it."""
    asked, found = byte_range(request.headers.get("Range", "")), os.fstat(file)
    if asked is not None and asked.first is not None:
        await _grown(file, asked.first, _patience(request))
        found = os.fstat(file)
    size = found.st_size
    response = web.StreamResponse(
        headers={
            "Content-Type": "text/plain; charset=utf-8",
            "Accept-Ranges": "bytes",
            "ETag": f'"{found.st_dev:x}.{found.st_ino:x}"',
        }
    )
    if asked is None:
        return response, 0, size
    start, stop = asked.within(size) or (0, 0)
    shown = f"{start}-{stop - 1}" if stop else "*"
    response.headers["Content-Range"] = f"bytes {shown}/{size}"
    response.set_status(206 if stop else 416)
    return response, start, stop


async def _grown(file: int, beyond: int, seconds: float) -> None:
    """Return when the file is of another length than `beyond`, or after so long."""
    gap, waited = SOON, 0.0
    while waited < seconds and os.fstat(file).st_size == beyond:
        await asyncio.sleep(gap)
        waited += gap
        gap = min(gap * 1.5, SELDOM)


def _patience(request: web.Request) -> float:
    found = _WAIT.search(request.headers.get("Prefer", ""))
    return min(float(found[1]), LONGEST_WAIT) if found else 0


async def _healthy(_: web.Request) -> web.Response:
    return web.Response()

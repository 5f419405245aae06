"""What an agent serves: that it lives, and what jobs have written.

    GET /healthz                              200, empty; asks for no key
    GET /logs/{job}?stream=stdout|stderr      the whole file
    GET /logs/{job}/stream?stream=…           server-sent events, as it is written

As the public agent answers them, so that a control plane need not know which one it asks.
"""

import asyncio
import hmac
import os
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path

from aiohttp import web

from clusterra.agent.logs import KEEP_ALIVE, PIECE, Log, follow, log_of, open_log
from clusterra.core.errors import ClusterraError, Invalid

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
            left = os.fstat(descriptor).st_size
            response = web.StreamResponse(headers={"Content-Type": "text/plain; charset=utf-8"})
            response.content_length = left
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


async def _healthy(_: web.Request) -> web.Response:
    return web.Response()

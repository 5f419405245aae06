"""The log endpoints of the public agent, written from what is known of them.

Whole files only, sent in chunks without a length; no ranges, no tags, no waiting.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web


@asynccontextmanager
async def public_agent(base: Path, key: str) -> AsyncIterator[str]:
    """Serve the logs in a directory, and yield at which address."""

    async def log(request: web.Request) -> web.StreamResponse:
        if request.headers.get("X-Agent-Key") != key:
            return web.Response(status=401)
        ending = "err" if request.query.get("stream") == "stderr" else "out"
        job = request.match_info["job"]
        for name in (f"slurm-{job}.{ending}", f"job_{job}.{ending}"):
            for file in _candidates(base, name):
                return await _whole(request, file)
        return web.Response(status=404, text="log not found")

    app = web.Application()
    app.router.add_get("/logs/{job}", log)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def _candidates(base: Path, name: str) -> list[Path]:
    return [each for each in (base / name, *base.glob(f"*/{name}")) if each.is_file()]


async def _whole(request: web.Request, file: Path) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/plain; charset=utf-8"})
    response.enable_chunked_encoding()
    await response.prepare(request)
    with file.open("rb") as opened:
        while data := opened.read(32 << 10):
            await response.write(data)
    return response

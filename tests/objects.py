"""Stores of files to test with, each reached the way that people reach it: by its links."""

import asyncio
import hashlib
import io
import secrets
import socket
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import aiohttp
import uvicorn
from yarl import URL

from clusterra.adapters.objects_local import LocalObjects
from clusterra.adapters.objects_s3 import S3Objects
from clusterra.adapters.objects_s3.bucket import Bucket
from clusterra.api.app import make_app
from clusterra.ports import Cargo, Clock, Objects, Presigned
from clusterra.settings import FileSettings, Settings
from clusterra.wiring import make_plane
from tests.s3 import ENVIRON, REGION
from tests.world import LAB, TOKEN, World

ROOM = "ana@lab.example"


class MovedClock:
    """The time, or as long before it as a test wants."""

    def __init__(self) -> None:
        self.behind = timedelta()

    def now(self) -> datetime:
        return datetime.now(UTC) - self.behind


def cargo(data: bytes, **more: object) -> Cargo:
    return Cargo(size=len(data), sha256=hashlib.sha256(data).hexdigest(), **more)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Got:
    status: int
    body: bytes
    headers: Mapping[str, str]


@dataclass
class Shop:
    """A store, and how to use its links."""

    objects: Objects
    clock: MovedClock
    base: str = ""
    root: Path | None = None
    """Where its files lie, if on this machine."""

    _session: aiohttp.ClientSession | None = field(default=None)

    async def use(
        self, link: Presigned, data: bytes | AsyncIterator[bytes] | None = None, **more: str
    ) -> Got:
        """Make the request that a link is for; `more` are headers, instead of its own."""
        if self._session is None:
            self._session = aiohttp.ClientSession()
        headers = dict(link.headers) | {k.replace("_", "-"): v for k, v in more.items()}
        url = URL(link.url if "://" in link.url else self.base + link.url, encoded=True)
        body = io.BytesIO(data) if isinstance(data, bytes) else data
        async with self._session.request(
            link.method, url, data=body, headers=headers, skip_auto_headers=("Content-Type",)
        ) as reply:
            return Got(reply.status, await reply.read(), dict(reply.headers))

    async def leave(self, link: Presigned) -> None:
        """Begin to fetch, and hang up."""
        url = URL(link.url if "://" in link.url else self.base + link.url, encoded=True)
        async with aiohttp.ClientSession() as session, session.get(url) as reply:
            await reply.content.read(1000)
            reply.close()

    async def put(self, key: str, data: bytes, **more: object) -> None:
        got = await self.use(await self.objects.presign_put(key, cargo(data, **more)), data)
        assert got.status == 200, got

    async def get(self, key: str, **more: str) -> bytes:
        got = await self.use(await self.objects.presign_get(key, **more))
        assert got.status == 200, got
        return got.body

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
        await self.objects.close()


def store_in(directory: Path, clock: Clock) -> LocalObjects:
    return LocalObjects(
        directory / "efs",
        directory / "private",
        path=f"/v1/objects/{LAB}",
        secret=secrets.token_bytes(32),
        clock=clock,
        seen_at="/mnt/efs",
    )


@contextmanager
def local_shop(directory: Path) -> Iterator[Shop]:
    """A directory, behind the real door on loopback."""
    clock = MovedClock()
    made = store_in(directory, clock)
    asyncio.run(made.make_room(ROOM, None))
    world = World()
    world.site.files = made
    with listening(world) as base:
        yield Shop(made, clock, base, directory / "efs")


@contextmanager
def listening(world: World, files: FileSettings | None = None) -> Iterator[str]:
    """Serve a world's plane on loopback, and yield the address."""
    socket_ = socket.create_server(("127.0.0.1", 0))
    plane = make_plane(
        Settings(files=files or FileSettings()),
        store=world.store,
        clock=world.clock,
        sites=[world.site],
        token=TOKEN,
    )
    config = uvicorn.Config(make_app(plane), log_config=None, lifespan="off", access_log=False)
    server = uvicorn.Server(config)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(
        target=lambda: loop.run_until_complete(server.serve(sockets=[socket_]))
    )
    thread.start()
    try:
        yield f"http://127.0.0.1:{socket_.getsockname()[1]}"
    finally:
        if world.site.files is not None:
            closing = asyncio.run_coroutine_threadsafe(world.site.files.close(), loop)
            closing.result(30)
        server.should_exit = True
        thread.join()
        loop.close()
        socket_.close()


@contextmanager
def s3_shop(url: str) -> Iterator[Shop]:
    """A bucket of its own in an S3, with versions."""
    clock = MovedClock()
    name = f"files-{secrets.token_hex(4)}"

    def bucket() -> Bucket:
        return Bucket(name, region=REGION, endpoint=url, environ=ENVIRON, clock=clock)

    async def make() -> None:
        made = bucket()
        assert (await made.ask("PUT")).status == 200
        on = b"<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>"
        assert (await made.ask("PUT", query={"versioning": ""}, body=on)).status == 200
        await made.close()

    asyncio.run(make())
    yield Shop(S3Objects(bucket(), prefix=f"clusterra/{LAB}/", clock=clock), clock)

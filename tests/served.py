"""The real HTTP door on loopback, in front of a real store, for whoever comes by socket."""

import asyncio
import socket
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import uvicorn

from clusterra.adapters.sqlite.store import SqliteStore
from clusterra.api.app import make_app
from clusterra.control.plane import Plane
from clusterra.core.events.event import Event, EventQuery
from clusterra.core.events.heard import Heard
from clusterra.core.people.credentials import FileKey, KeyUse
from tests.world import LAB, World

T = TypeVar("T")
KEY = "the-key-of-the-lab"


@dataclass
class Served:
    url: str
    plane: Plane
    loop: asyncio.AbstractEventLoop
    nudged: list[int] = field(default_factory=list)

    def run(self, doing: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(doing, self.loop).result(60)

    def heard(self) -> list[Heard]:
        """Return what waits in the inbox, in the order of its own times."""
        records = self.run(_listed(self.plane))
        return sorted((record.value for record in records), key=lambda heard: heard.at)

    def events(self) -> list[Event]:
        return list(self.run(_ledger(self.plane)))


async def _listed(plane: Plane) -> Any:
    return await plane.inboxes[LAB].pending()


async def _ledger(plane: Plane) -> Any:
    return await plane.store.events(LAB, EventQuery(limit=10_000))


@contextmanager
def served(state: Path, *, port: int = 0) -> Iterator[Served]:
    """Serve what is in `state`; stopping is orderly, and the next one finds all of it."""
    store = SqliteStore(state / "clusterra.db")
    world = World(store=store)
    plane = world.plane()
    plane.keys = [FileKey(cluster=LAB, use=KeyUse.COLLECTOR, secret=KEY)]
    listening = socket.create_server(("127.0.0.1", port))
    loop = asyncio.new_event_loop()
    config = uvicorn.Config(make_app(plane), log_config=None, lifespan="off", access_log=False)
    server = uvicorn.Server(config)
    thread = threading.Thread(
        target=lambda: loop.run_until_complete(server.serve(sockets=[listening]))
    )
    made = Served(url=f"http://127.0.0.1:{listening.getsockname()[1]}", plane=plane, loop=loop)
    world.site.nudge = made.nudged.extend
    thread.start()
    try:
        yield made
    finally:
        server.should_exit = True
        thread.join()
        loop.close()
        listening.close()
        store.close()

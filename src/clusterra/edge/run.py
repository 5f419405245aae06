"""Run an agent until it is told to stop. The workers it tends go on without it."""

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from clusterra.adapters.clock import SystemClock
from clusterra.adapters.secret_file import secret_in
from clusterra.adapters.workers_local import LocalWorkers, read_place
from clusterra.agent.beat import Happened, Heart
from clusterra.agent.heartbeat import Self
from clusterra.core.errors import Refused
from clusterra.edge.central import HttpCentral
from clusterra.edge.door import Door


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """What one agent is told at its start."""

    url: str
    cluster: str
    key: Callable[[], str]
    """The key it shows, and asks of whoever wants a log; empty if there is none."""

    place: Path
    """The file that says where workers run."""

    logs: Path
    host: str = "127.0.0.1"
    port: int = 6001
    ip: str = ""
    """Where the control plane reaches it, if that is not `host`."""

    every: float = 15
    ghost_seconds: float = 480
    """How long a worker may take until its slurmd answers."""

    ready_file: Path | None = None


async def run_agent(agent: Agent, tell: Callable[[Happened], None]) -> None:
    """Return after SIGTERM or SIGINT."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    working = asyncio.create_task(_work(agent, tell))
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    working.cancel()
    try:
        await working
    except asyncio.CancelledError:
        return


async def _work(agent: Agent, tell: Callable[[Happened], None]) -> None:
    place = read_place(agent.place)
    workers = await LocalWorkers.opened(place, patience=agent.ghost_seconds)
    central = HttpCentral(agent.url, agent.key)
    door = Door(agent.logs, agent.key)
    try:
        port = await _open(door, agent)
        await workers.register_anew()
        heart = Heart(
            me=Self(
                cluster=agent.cluster,
                id=secret_in(place.directory / "agent-id", _new_id).decode(),
                url=f"http://{agent.ip or agent.host}:{port}",
                ip=agent.ip or agent.host,
            ),
            workers=workers,
            central=central,
            clock=SystemClock(),
            every=agent.every,
            tell=tell,
        )
        with _said_to_be_ready(agent.ready_file):
            await heart.run()
    finally:
        await door.close()
        await central.close()
        await workers.close()


async def _open(door: Door, agent: Agent) -> int:
    try:
        return await door.open(agent.host, agent.port)
    except OSError as error:
        raise Refused(
            f"Port {agent.port} on {agent.host} cannot be used: {error.strerror}.",
            hint="Choose another with --port, or --port 0 for any free one.",
            code="port-taken",
        ) from None


@contextmanager
def _said_to_be_ready(file: Path | None) -> Iterator[None]:
    if file is not None:
        file.write_text(f"{os.getpid()}\n")
    try:
        yield
    finally:
        if file is not None:
            file.unlink(missing_ok=True)


def _new_id() -> bytes:
    return f"agent_{uuid4().hex}".encode()

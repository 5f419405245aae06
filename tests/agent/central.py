"""A control plane that answers heartbeats as a test says, and remembers them."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
from aiohttp import web

from clusterra.agent.beat import PATH
from clusterra.wire.agent import CommandView, Heartbeat, Orders, ShapeView

KEY = "agent-key"
SHAPE = ShapeView(arch="amd64", vcpus=2, mem_gib=4, mem_mib=3500, features=("general",))


def command(name: str, replicas: int) -> CommandView:
    return CommandView(name=name, replicas=replicas, shape=SHAPE)


@dataclass
class FakeCentral:
    orders: Orders = field(
        default_factory=lambda: Orders(
            scaling_commands_version=1, scaling_commands=(), protected_nodes=()
        )
    )
    holds: bool = True
    """It waits with its answer until something has changed, if it is asked to."""

    scripted: list[tuple[int, bytes]] = field(default_factory=list)
    """What it answers before it does its job: status and body; status 0 never answers."""

    beats: list[Heartbeat] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    url: str = ""
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def want(self, *commands: CommandView, **more: Any) -> None:
        version = self.orders.scaling_commands_version + 1
        async with self._changed:
            self.orders = replace(
                self.orders, scaling_commands=commands, scaling_commands_version=version, **more
            )
            self._changed.notify_all()

    async def hears(self, true: Callable[[Heartbeat], bool], seconds: float = 10) -> Heartbeat:
        """Return the newest heartbeat as soon as one is like that."""
        async with asyncio.timeout(seconds), self._changed:
            await self._changed.wait_for(lambda: bool(self.beats) and true(self.beats[-1]))
        return self.beats[-1]

    async def answer(self, request: web.Request) -> web.Response:
        body = await request.read()
        beat = msgspec.json.decode(body, type=Heartbeat)
        self.keys.append(request.headers.get("X-Agent-Key", ""))
        async with self._changed:
            self.beats.append(beat)
            self.bodies.append(msgspec.json.decode(body))
            self._changed.notify_all()
        if self.scripted:
            status, said = self.scripted.pop(0)
            if not status:
                await asyncio.Event().wait()
            return web.Response(status=status, body=said)
        if self.holds and beat.wait_seconds:
            await self._hold(beat)
        return web.Response(body=msgspec.json.encode(self.orders))

    async def _hold(self, beat: Heartbeat) -> None:
        def news() -> bool:
            said = (beat.last_applied_version, tuple(beat.protected_nodes or ()))
            wanted = self.orders.scaling_commands_version, tuple(self.orders.protected_nodes)
            return said != wanted

        try:
            async with asyncio.timeout(beat.wait_seconds), self._changed:
                await self._changed.wait_for(news)
        except TimeoutError:
            return


@asynccontextmanager
async def central() -> AsyncIterator[FakeCentral]:
    fake = FakeCentral()
    app = web.Application()
    app.router.add_post(PATH, fake.answer)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    fake.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield fake
    finally:
        await runner.cleanup()

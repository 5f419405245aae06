"""Listen to an ASGI application that goes on talking, without a socket."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from starlette.types import ASGIApp, Message, Scope

from tests.world import TOKEN


class Listener:
    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.heard = b""
        self.ended = False
        self._news = asyncio.Condition()
        self._gone = asyncio.Event()

    async def receive(self) -> Message:
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        async with self._news:
            if message["type"] == "http.response.start":
                self.status = message["status"]
                self.headers = {key.decode(): text.decode() for key, text in message["headers"]}
            else:
                self.heard += message.get("body", b"")
                self.ended = not message.get("more_body", False)
            self._news.notify_all()

    def leave(self) -> None:
        self._gone.set()

    async def until(self, true: Callable[[], bool]) -> None:
        async with asyncio.timeout(10), self._news:
            await self._news.wait_for(true)

    async def hear(self, *numbers: int) -> None:
        """Wait until exactly these events have come."""
        await self.until(lambda: len(self.numbers) >= len(numbers))
        assert self.numbers == list(numbers)

    @property
    def numbers(self) -> list[int]:
        """The ids of the events so far."""
        found = re.findall(rb"^id: (\d+)\nevent: ", self.heard, re.MULTILINE)
        return [int(each) for each in found]


@asynccontextmanager
async def listening(
    app: ASGIApp, path: str, *, token: str = TOKEN, **headers: str
) -> AsyncIterator[Listener]:
    route, _, query = path.partition("?")
    sent = {"authorization": f"Bearer {token}"}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    scope: Scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "path": route,
        "raw_path": route.encode(),
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in sent.items()],
        "server": ("test", 80),
        "scheme": "http",
        "root_path": "",
    }
    listener = Listener()
    talking = asyncio.create_task(_talk(app, scope, listener))
    try:
        await listener.until(lambda: listener.heard != b"" or listener.ended)
        yield listener
    finally:
        listener.leave()
        async with asyncio.timeout(10):
            await talking


async def _talk(app: ASGIApp, scope: Scope, listener: Listener) -> None:
    await app(scope, listener.receive, listener.send)

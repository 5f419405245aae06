"""Ask an ASGI application something, without a socket."""

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

from starlette.types import ASGIApp, Message

from tests.world import TOKEN


@dataclass
class Answer:
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    set_cookies: list[str] = field(default_factory=list)
    body: bytes = b""

    @property
    def cookies(self) -> dict[str, str]:
        """Those it sets; one that it takes away is empty."""
        pairs = [each.partition(";")[0].partition("=") for each in self.set_cookies]
        return {name: value.strip('"') for name, _, value in pairs}

    @property
    def json(self) -> Any:
        return json.loads(self.body)


async def ask(
    app: ASGIApp,
    method: str,
    path: str,
    body: object = None,
    *,
    token: str = TOKEN,
    address: str = "192.0.2.1",
    **headers: str,
) -> Answer:
    route, _, query = path.partition("?")
    sent = {"authorization": f"Bearer {token}"} if token else {}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "path": route,
        "raw_path": route.encode(),
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in sent.items()],
        "client": (address, 40_000),
        "server": ("test", 80),
        "scheme": "http",
        "root_path": "",
    }
    answer = Answer()

    unread = iter([data])

    async def receive() -> Message:
        if (data := next(unread, None)) is None:
            await asyncio.Event().wait()  # the client says no more, and stays
        return {"type": "http.request", "body": data, "more_body": False}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            answer.status = message["status"]
            sent_back = [(name.decode(), value.decode()) for name, value in message["headers"]]
            answer.headers = dict(sent_back)
            answer.set_cookies = [text for name, text in sent_back if name == "set-cookie"]
        else:
            answer.body += message.get("body", b"")

    await app(scope, receive, send)
    return answer

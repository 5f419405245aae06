"""Ask an ASGI application something, without a socket."""

import json
from dataclasses import dataclass, field
from typing import Any

from starlette.types import ASGIApp, Message

from tests.world import TOKEN


@dataclass
class Answer:
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

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
        "server": ("test", 80),
        "scheme": "http",
        "root_path": "",
    }
    answer = Answer()

    async def receive() -> Message:
        return {"type": "http.request", "body": data, "more_body": False}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            answer.status = message["status"]
            answer.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        else:
            answer.body += message.get("body", b"")

    await app(scope, receive, send)
    return answer

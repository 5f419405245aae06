"""Somebody who is told: a real HTTP server on loopback that remembers what it got and when."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Got:
    at: float
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def id(self) -> str:
        return self.headers.get("webhook-id", "")


@dataclass
class Receiver:
    """Has its port from the beginning; whoever comes before it listens is turned away."""

    status: int = 200
    answer: bytes = b""
    got: list[Got] = field(default_factory=list)
    place: socket.socket = field(default_factory=socket.socket)

    def __post_init__(self) -> None:
        self.place.bind(("127.0.0.1", 0))

    @property
    def port(self) -> int:
        port: int = self.place.getsockname()[1]
        return port

    def url(self, path: str = "/hook") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def at(self, path: str) -> list[Got]:
        return [each for each in self.got if each.path == path]

    def jobs(self, path: str, type: str) -> list[int]:
        """Return the jobs that it was told this of, in the order in which it was."""
        told = [each.json for each in self.at(path)]
        return [each["data"]["job_id"] for each in told if each["type"] == type]


@contextmanager
def listening(receiver: Receiver) -> Iterator[Receiver]:
    """Listen from now on; to be done once."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            receiver.got.append(Got(at=time.time(), path=self.path, headers=headers, body=body))
            self.send_response(receiver.status)
            self.send_header("content-length", str(len(receiver.answer)))
            self.end_headers()
            self.wfile.write(receiver.answer)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler, bind_and_activate=False)
    server.socket.close()
    server.socket = receiver.place
    server.daemon_threads = True
    server.server_activate()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

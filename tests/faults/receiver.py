"""Somebody who is told: lives through all deaths of whoever tells, and forgets nothing."""

import os
import signal
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

QUIET = 0.05
"""Seconds without a request, after which no more will come while none is answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Got:
    """A request that has come whole."""

    life: int
    path: str
    id: str
    """Of the event."""

    request: str
    body: bytes
    status: int
    """What it was answered, if there was time for that."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "Receiver"

    def do_POST(self) -> None:
        length = int(self.headers["content-length"])
        body = self.rfile.read(length)
        if len(body) < length:  # whoever sent it died while doing so
            self.close_connection = True
            return
        status = self.server.take(self.path, self.headers, body)
        if status is None:
            self.close_connection = True
            return
        self.send_response_only(status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        pass


class Receiver(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.got: list[Got] = []
        self.life = 0
        self._lock = threading.Condition()
        self._open = 0
        self._script: dict[str, list[int]] = {}
        self._hold_from: int | None = None
        self._came = 0
        self._victim: int | None = None
        self._over = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def begin(self, script: Mapping[str, Sequence[int]], hold_from: int | None) -> None:
        """Another life begins. `script` is what to answer first, by path; then it is 200.

        With `hold_from`, this request and those after it wait for an answer that never comes:
        when as many are under way as ever will be, whoever sent them is killed.
        """
        with self._lock:
            self.life += 1
            self._script = {path: list(answers) for path, answers in script.items()}
            self._hold_from = hold_from
            self._came = 0
            self._victim, self._over = None, False

    def born(self, victim: int) -> None:
        """Learn whom to kill."""
        with self._lock:
            self._victim = victim
            self._lock.notify_all()

    def end(self) -> None:
        """Whoever sent is dead: take what they have left in the sockets, and wait until it is all."""
        with self._lock:
            self._victim, self._over = None, True
            self._lock.notify_all()
        # Connections are taken in the order in which they were made: when it is our turn, all
        # of theirs have been.
        with socket.create_connection(("127.0.0.1", self.server_port)) as last:
            last.sendall(b"GET / HTTP/1.0\r\n\r\n")
            while last.recv(4096):
                pass
        with self._lock:
            assert self._lock.wait_for(lambda: self._open == 0, timeout=30)

    def take(self, path: str, headers: Any, body: bytes) -> int | None:
        """Note a request, and return what to answer; None for nothing."""
        with self._lock:
            script = self._script.get(path)
            status = script.pop(0) if script else 200
            self.got.append(
                Got(
                    life=self.life,
                    path=path,
                    id=headers["webhook-id"],
                    request=headers["clusterra-request-id"],
                    body=body,
                    status=status,
                )
            )
            self._came += 1
            self._lock.notify_all()
            if self._hold_from is None or self._came < self._hold_from:
                return status
            self._hold(self._came)
            return None

    def _hold(self, number: int) -> None:
        """Wait until whoever sent this is dead; if it was the last request, see to that."""
        self._lock.wait_for(lambda: self._victim or self._over)
        self._lock.wait_for(lambda: self._came > number or self._over, QUIET)
        if self._came == number and self._victim is not None:
            os.kill(self._victim, signal.SIGKILL)
        self._lock.wait_for(lambda: self._over)

    # --- which connections there are

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._open += 1
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        super().shutdown_request(request)
        with self._lock:
            self._open -= 1
            self._lock.notify_all()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: whoever has died does not hear our answer."""


@contextmanager
def receiving() -> Iterator[Receiver]:
    with Receiver() as receiver:
        thread = threading.Thread(target=receiver.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield receiver
        finally:
            receiver.shutdown()
            thread.join()

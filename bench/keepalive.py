"""The cheapest HTTP client there is: one blocking socket, kept open, replies with a length.

Used against slurmrestd and against us alike, so that neither side's figure carries
more of a client than the other's. It reads what both of them send and nothing else.
"""

import socket
from contextlib import suppress
from dataclasses import dataclass
from typing import Self
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes


class KeepAlive:
    def __init__(self, url: str, headers: dict[str, str] | None = None) -> None:
        parts = urlsplit(url)
        self._host = parts.hostname or ""
        self._port = parts.port or 80
        self._headers = "".join(f"{name}: {text}\r\n" for name, text in (headers or {}).items())
        self._socket: socket.socket | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def get(self, path: str) -> Answer:
        return self.send(self.request("GET", path))

    def drain(self, path: str) -> int:
        """Read an answer as fast as it comes and throw it away; return how long it was."""
        with socket.create_connection((self._host, self._port), timeout=120) as connection:
            connection.sendall(self.request("GET", path))
            read = connection.recv(262144)
            while (end := read.find(b"\r\n\r\n")) < 0:
                read += _more(connection)
            _, length, _ = _head(read[:end])
            left = length - (len(read) - end - 4)
            while left > 0:
                left -= len(_more(connection))
        return length

    def request(self, method: str, path: str, body: bytes = b"") -> bytes:
        """Make the bytes of a request; a request that is sent often is made once."""
        length = f"content-type: application/json\r\ncontent-length: {len(body)}\r\n"
        head = f"{method} {path} HTTP/1.1\r\nhost: {self._host}:{self._port}\r\n{self._headers}"
        return (head + (length if body else "") + "\r\n").encode() + body

    def send(self, request: bytes) -> Answer:
        """Send a request and return the whole answer.

        A connection that the other side has closed while nothing was under way is
        opened again; one that breaks in the middle of an answer is an error.
        """
        if self._socket is not None:
            with suppress(ConnectionError):
                self._socket.sendall(request)
                if first := self._socket.recv(65536):
                    return self._rest(self._socket, first)
            self.close()
        self._socket = socket.create_connection((self._host, self._port), timeout=120)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.sendall(request)
        return self._rest(self._socket, self._socket.recv(65536))

    def _rest(self, connection: socket.socket, first: bytes) -> Answer:
        read = bytearray(first)
        while (end := read.find(b"\r\n\r\n")) < 0:
            read += _more(connection)
        status, length, closing = _head(bytes(read[:end]))
        body = read[end + 4 :]
        while len(body) < length:
            body += _more(connection)
        if closing:
            self.close()
        return Answer(status, bytes(body))


def _more(connection: socket.socket) -> bytes:
    data = connection.recv(262144)
    if not data:
        raise ConnectionError("The connection broke in the middle of an answer.")
    return data


def _head(head: bytes) -> tuple[int, int, bool]:
    lines = head.lower().split(b"\r\n")
    length, closing = 0, False
    for line in lines[1:]:
        name, _, text = line.partition(b":")
        if name == b"content-length":
            length = int(text)
        elif name == b"connection":
            closing = text.strip() == b"close"
    return int(lines[0].split(b" ", 2)[1]), length, closing

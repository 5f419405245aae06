"""HTTP/1.1, as much of it as a terminal needs: one socket, one question at a time.

Python's own client would import e-mail parsing and TLS before the first byte leaves
(20 of the 130 ms of `clusterra jobs list`). Redirects, proxies, cookies and
compression are not here; neither is what an answer means: `connection.py` knows.
"""

import select
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from io import BufferedReader
from typing import Self
from urllib.parse import urlsplit

_LONGEST_LINE = 65536
_MOST_HEADERS = 200
_PIECE = 65536
_HEX = frozenset("0123456789abcdefABCDEF")


class NotHttp(Exception):
    """What came back is not HTTP."""


class CutOff(Exception):
    """The other side closed the connection before its answer was whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    host: str
    port: int
    named: str
    """Host and port as the `Host` header has them."""
    prefix: str
    """What every path begins with, for a server below a path of its host."""
    secure: bool
    """Spoken to in TLS."""

    @classmethod
    def of(cls, url: str) -> Self:
        """Read an http or https URL; ValueError if it is none."""
        parts = urlsplit(url)
        secure = parts.scheme == "https"
        if not parts.hostname or not (secure or parts.scheme == "http"):
            raise ValueError(url)
        host = parts.hostname.encode("idna").decode()
        named = f"[{host}]" if ":" in host else host
        return cls(
            host=host,
            port=parts.port if parts.port is not None else (443 if secure else 80),
            named=named if parts.port is None else f"{named}:{parts.port}",
            prefix=_plain(parts.path),
            secure=secure,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    status: int
    phrase: str
    """The server's words for the status: `Not Found`."""
    headers: Mapping[str, str]
    """By lower-case name."""
    pieces: Iterator[bytes]
    """The body as it arrives."""

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    def read(self) -> bytes:
        return b"".join(self.pieces)

    def lines(self) -> Iterator[bytes]:
        """Yield each line of the body, without its end, as soon as it is whole."""
        begun = b""
        for piece in self.pieces:
            *whole, begun = (begun + piece).split(b"\n")
            yield from (line.removesuffix(b"\r") for line in whole)
        if begun:
            yield begun


class Channel:
    """A connection to one address, kept open from question to question.

    Raises the system's own OSError (TimeoutError after `timeout` seconds of silence),
    CutOff and NotHttp. After any of them the channel has to be closed.
    """

    def __init__(self, address: Address, *, timeout: float) -> None:
        self._address = address
        self.timeout = timeout
        self._socket: socket.socket | None = None
        self._incoming: BufferedReader | None = None
        self._reading = False

    def is_ready(self) -> bool:
        """Say whether a question can be asked without connecting first.

        A connection that the server has closed meanwhile is readable: it has come to its end.
        """
        if self._socket is None or self._reading:
            return False
        waiting = select.poll()
        waiting.register(self._socket, select.POLLIN)
        return not waiting.poll(0)

    def connect(self) -> None:
        self.close()
        at = (self._address.host, self._address.port)
        plain = socket.create_connection(at, timeout=self.timeout)
        try:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket = _secured(plain, self._address.host) if self._address.secure else plain
        except BaseException:
            plain.close()
            raise
        self._incoming = self._socket.makefile("rb")

    def ask(self, question: bytes, send: Callable[[socket.socket], None] | None = None) -> Answer:
        """Send a question and return its answer as soon as the headers are here.

        `send` sends what belongs to the question and is too large to be held.
        """
        assert self._socket is not None
        assert self._incoming is not None
        self._reading = True
        # A server that refuses early (too large, say) closes while it is still being told;
        # its answer is there to be read all the same.
        with suppress(ConnectionError):
            self._socket.sendall(question)
            if send is not None:
                send(self._socket)
        status = 100
        while 100 <= status < 200:  # these only announce the answer
            version, status, phrase = _status(self._incoming)
            headers = _headers(self._incoming)
        keeps = version == "HTTP/1.1" and "close" not in headers.get("connection", "").lower()
        body = iter(()) if status in {204, 304} else _body(self._incoming, headers)
        pieces = self._pieces(body, keeps=keeps)
        return Answer(status=status, phrase=phrase, headers=headers, pieces=pieces)

    def close(self) -> None:
        for each in (self._incoming, self._socket):
            if each is not None:
                each.close()
        self._incoming = self._socket = None
        self._reading = False

    def _pieces(self, body: Iterator[bytes], *, keeps: bool) -> Iterator[bytes]:
        yield from body
        self._reading = False
        if not keeps:
            self.close()


def question(
    address: Address,
    method: str,
    path: str,
    headers: Mapping[str, str],
    body: bytes | None,
    *,
    follows: int = 0,
) -> bytes:
    """Return the bytes of a question; ValueError if something in it would be read as more.

    `follows` bytes are sent after it.
    """
    lines = [f"{method} {_plain(address.prefix + path)} HTTP/1.1", f"Host: {address.named}"]
    lines += [f"{name}: {_line(text)}" for name, text in headers.items()]
    if method != "GET":
        lines.append(f"Content-Length: {len(body or b'') + follows}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + (body or b"")


def _secured(plain: socket.socket, host: str) -> socket.socket:
    import ssl

    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context.wrap_socket(plain, server_hostname=host)


def _plain(path: str) -> str:
    """Return a path that can stand in a request; ValueError for one that would end it early."""
    if not path.isascii() or not path.isprintable() or " " in path:
        raise ValueError(path)
    return path


def _line(text: str) -> str:
    """Return the value of a header; ValueError for one that would begin another."""
    if not text.isprintable():
        raise ValueError(text)
    return text


def _read_line(incoming: BufferedReader) -> str:
    line = incoming.readline(_LONGEST_LINE)
    if line.endswith(b"\n"):
        return line.rstrip(b"\r\n").decode("latin-1")
    if len(line) == _LONGEST_LINE:
        raise NotHttp
    raise CutOff


def _status(incoming: BufferedReader) -> tuple[str, int, str]:
    version, _, rest = _read_line(incoming).partition(" ")
    number, _, phrase = rest.partition(" ")
    if not version.startswith("HTTP/1.") or not _is_number(number) or len(number) != 3:
        raise NotHttp
    return version, int(number), phrase.strip()


def _headers(incoming: BufferedReader) -> dict[str, str]:
    found: dict[str, str] = {}
    for _ in range(_MOST_HEADERS):
        if not (line := _read_line(incoming)):
            return found
        name, colon, text = line.partition(":")
        if not colon:
            raise NotHttp
        name, text = name.lower(), text.strip()
        found[name] = f"{found[name]}, {text}" if name in found else text
    raise NotHttp


def _body(incoming: BufferedReader, headers: Mapping[str, str]) -> Iterator[bytes]:
    """Yield the body, whose end is told in one of three ways (RFC 9112, 6.3)."""
    if coding := headers.get("transfer-encoding"):
        if coding.lower() != "chunked":
            raise NotHttp
        return _chunked(incoming)
    if (length := headers.get("content-length")) is not None:
        if not _is_number(length):
            raise NotHttp
        return _measured(incoming, int(length))
    return iter(lambda: incoming.read1(_PIECE), b"")


def _measured(incoming: BufferedReader, left: int) -> Iterator[bytes]:
    while left:
        piece = incoming.read1(min(left, _PIECE))
        if not piece:
            raise CutOff
        left -= len(piece)
        yield piece


def _chunked(incoming: BufferedReader) -> Iterator[bytes]:
    while size := _chunk_size(_read_line(incoming)):
        yield from _measured(incoming, size)
        if _read_line(incoming):
            raise NotHttp
    _headers(incoming)  # trailers, which nobody here sends


def _chunk_size(line: str) -> int:
    digits = line.partition(";")[0].strip()
    if not 0 < len(digits) <= 16 or not _HEX.issuperset(digits):
        raise NotHttp
    return int(digits, 16)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 20

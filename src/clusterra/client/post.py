"""One POST to an address of the developer's own, and what came of it as a value.

For `events listen` and `events trigger`: whatever the program under development does, it
goes on. What the server sends, with its guards, is another thing (`adapters/`).
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from clusterra.client.http11 import Address, Answer, Channel, CutOff, NotHttp, question
from clusterra.core.errors import Invalid

KIND = "application/cloudevents+json; charset=utf-8"

TIMEOUT = 15.0
"""Seconds, as a webhook has them."""

_ENOUGH = 4096
"""Bytes of an answer that anybody reads in a terminal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Posted:
    status: int | None = None
    """None if there was no answer; `why` says why not."""
    phrase: str = ""
    why: str = ""
    said: bytes = b""
    """The beginning of the answer."""
    took: float = 0
    """Seconds."""

    @property
    def is_success(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


class Post:
    """Where to send to. Invalid if it is nowhere."""

    def __init__(self, url: str, *, timeout: float = TIMEOUT) -> None:
        self.url = _whole(url)
        parts = urlsplit(self.url)
        self._path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._timeout = timeout
        try:
            self._address = replace(Address.of(self.url), prefix="")
            self._question({}, b"")
        except ValueError:
            raise Invalid(
                f"{url!r} is no address that can be sent to.",
                hint="Write it as http://localhost:3000/hooks, or only the port: 3000.",
                at="--forward",
            ) from None

    def send(self, body: bytes, headers: Mapping[str, str]) -> Posted:
        channel = Channel(self._address, timeout=self._timeout)
        began = time.monotonic()
        try:
            channel.connect()
            answer = channel.ask(self._question(headers, body))
            said = _beginning(answer)
            took = time.monotonic() - began
            return Posted(status=answer.status, phrase=answer.phrase, said=said, took=took)
        except (OSError, CutOff, NotHttp) as error:
            return Posted(why=self._words(error), took=time.monotonic() - began)
        finally:
            channel.close()

    def _question(self, headers: Mapping[str, str], body: bytes) -> bytes:
        sent = {"Content-Type": KIND, "Connection": "close", **headers}
        return question(self._address, "POST", self._path, sent, body)

    def _words(self, error: Exception) -> str:
        if isinstance(error, ConnectionRefusedError):
            return "nobody listens there"
        if isinstance(error, TimeoutError):
            return f"no answer within {self._timeout:.0f} s"
        if isinstance(error, NotHttp):
            return "what it answered is no HTTP"
        if isinstance(error, (CutOff, ConnectionError)):
            return "it broke off before it answered"
        why = getattr(error, "verify_message", None) or getattr(error, "strerror", None)
        return str(why or error)


def _whole(url: str) -> str:
    """Return an address with its scheme; people write `localhost:3000`, or only a port."""
    if url.isascii() and url.isdecimal():
        return f"http://127.0.0.1:{url}"
    return url if "://" in url else f"http://{url}"


def _beginning(answer: Answer) -> bytes:
    said = b""
    for piece in answer.pieces:
        said += piece
        if len(said) >= _ENOUGH:
            break
    return said[:_ENOUGH]

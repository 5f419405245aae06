"""Die at a named moment.

Nothing in the product knows of this. The moments are found from outside: SQLite tells which
statement it is about to run, Python's audit hooks which file is about to be opened or
renamed, the event loop when an answer is about to be given, and a socket what goes through it.
"""

import asyncio
import os
import re
import signal
import socket
import sqlite3
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """SQLite is about to run something that begins like this."""

    like: str
    among: str = ""
    """Only in a transaction that has run something like this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A transaction is on disk, and whoever waits for it does not know yet."""

    among: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file is about to be opened or renamed."""

    event: str
    end: str
    mode: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A request is about to leave, or has left in part."""

    part: float = 0


@dataclass(frozen=True, slots=True)
class Heard:
    """The answer to a request is here, and nobody has read it yet."""


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Somebody outside decides, and does it."""


@dataclass(frozen=True, slots=True)
class Never:
    """It is left alone."""


Moment: TypeAlias = Statement | Answer | File | Sent | Heard | Elsewhere | Never


class Death:
    """Comes the n-th time that a moment passes."""

    def __init__(self, moment: Moment, nth: int) -> None:
        self._moment = moment
        self._left = nth
        self._in_transaction = False
        """Whether this one has run what it must have run."""

    def arrange(self) -> None:
        match self._moment:
            case Statement():
                _replace(sqlite3, "connect", self._tracing)
            case Answer():
                _replace(sqlite3, "connect", self._tracing)
                # Writers hand over what they have done by this call, after the commit.
                _replace(asyncio.BaseEventLoop, "call_soon_threadsafe", self._handing_over)
            case File():
                sys.addaudithook(self._audit)
            case Sent():
                for name in ("send", "sendmsg"):
                    _replace(socket.socket, name, self._sending)
            case Heard():
                _replace(socket.socket, "recv", self._hearing)
            case Elsewhere() | Never():
                pass

    def _passes(self) -> bool:
        """Say whether this is the time."""
        self._left -= 1
        return self._left == 0

    def _tracing(self, connect: Callable[..., sqlite3.Connection]) -> Callable[..., Any]:
        def traced(*args: Any, **more: Any) -> sqlite3.Connection:
            made = connect(*args, **more)
            made.set_trace_callback(self._statement)
            return made

        return traced

    def _statement(self, text: str) -> None:
        assert isinstance(self._moment, Statement | Answer)
        text = text.lower().strip()
        if text.startswith("begin"):
            self._in_transaction = False
        if re.match(self._moment.among, text):
            self._in_transaction = True
        if (
            isinstance(self._moment, Statement)
            and self._in_transaction
            and re.match(self._moment.like, text)
            and self._passes()
        ):
            die()

    def _handing_over(self, hand_over: Callable[..., Any]) -> Callable[..., Any]:
        def dying(loop: Any, callback: Callable[..., Any], *args: Any, **more: Any) -> Any:
            settles = getattr(callback, "__name__", "") == "_settle"
            if settles and self._in_transaction and self._passes():
                die()
            return hand_over(loop, callback, *args, **more)

        return dying

    def _audit(self, event: str, args: Any) -> None:
        assert isinstance(self._moment, File)
        if (
            event == self._moment.event
            and str(args[0]).endswith(self._moment.end)
            and self._moment.mode in str(args[1])
            and self._passes()
        ):
            die()

    def _sending(self, send: Callable[..., int]) -> Callable[..., int]:
        moment = self._moment
        assert isinstance(moment, Sent)

        def dying(sock: socket.socket, data: Any, *more: Any) -> int:
            whole = b"".join(data) if isinstance(data, list | tuple) else bytes(data)
            if whole.startswith(b"POST ") and self._passes():
                sock.sendall(whole[: int(len(whole) * moment.part)])
                die()
            return send(sock, data, *more)

        return dying

    def _hearing(self, receive: Callable[..., bytes]) -> Callable[..., bytes]:
        def dying(sock: socket.socket, *more: Any) -> bytes:
            data = receive(sock, *more)
            if data.startswith(b"HTTP/") and self._passes():
                die()
            return data

        return dying


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _replace(owner: Any, name: str, by: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    setattr(owner, name, by(getattr(owner, name)))

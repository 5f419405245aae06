"""Reading a list of jobs while it arrives, never holding more than a few of them.

slurmrestd writes a list as one JSON document; fifty thousand jobs are 400 MB of it.
All elements of the list begin with the same member, so the bytes between two
elements look like `},{"account":` and cannot occur inside a JSON string, where the
quotes would be escaped. The name of that member is learned from the first element.

Whatever has arrived is read up to the last such place, all at once: to look for
every end of every element would add a fifth to the time it takes.

The bytes can occur inside an element, if that holds a list of objects that begin
alike. Then what stands before them is no list, and the place before is tried; if
that does not help either, the rest of the reply is taken whole, and it is logged.
"""

import re
from collections.abc import Callable, Iterator
from typing import Generic, TypeAlias, TypeVar

import msgspec
import structlog

from clusterra.adapters.slurmrest.decode import Envelope, read

log = structlog.get_logger()

T = TypeVar("T")

Piece: TypeAlias = bytes | msgspec.Raw
"""A JSON list of one or more elements, as they stood beside each other."""

OVERLAP = 256  # more than a separator is long, pretty-printed or not
TRIES = 64  # places tried before giving up; a job of today's Slurm needs none
LONGEST_HEAD = 65536  # where a list has not begun by then, there is none

_FIRST = re.compile(rb'\{\s*("[^"]*")\s*:')
_END = re.compile(rb"\}\s*\]")


class Broken(Exception):
    """The reply ended too early, or is not what it should be."""


class Elements(Generic[T]):
    """The elements of the list called `name`, handed out as they become complete.

    `decode` is given some of them at a time, as a list; whatever it makes of that is
    handed out. It raises msgspec.DecodeError if, and only if, they are not a list.
    """

    def __init__(self, name: str, decode: Callable[[Piece], T]) -> None:
        self._name = name
        self._opening = re.compile(rb'"' + name.encode() + rb'"\s*:\s*\[\s*(?=\S)')
        self._decode = decode
        self._buffer = bytearray()
        self._between: re.Pattern[bytes] | None = None
        self._separator = b""
        """The very bytes between two elements, once they have proved right. One writer wrote the
        whole reply, and looking for bytes is several times faster than for a pattern."""
        self._gap = 0
        """How much of the separator comes before the next element."""
        self._scanned = 0
        self._tries = 0
        self._whole = False

    def feed(self, chunk: bytes) -> Iterator[T]:
        """Take the next bytes and hand out what they complete."""
        self._buffer += chunk
        if self._whole or not self._begun():
            return
        tried = 0
        for closing, gap, separator in self._boundaries():
            tried = tried or closing + 1
            try:
                elements = self._decode(self._listed(closing + 1))
            except msgspec.DecodeError:
                self._tries += 1
                if self._tries > TRIES:
                    self._take_whole()
                    return
                continue
            self._tries = 0
            self._separator, self._gap = separator, gap
            del self._buffer[: closing + gap]
            tried -= closing + gap
            yield elements
            break
        self._scanned = max(0, tried, len(self._buffer) - OVERLAP)

    def finish(self) -> tuple[list[T], Envelope]:
        """Hand out what is left once all bytes are there, and what surrounded the list."""
        try:
            return self._rest()
        except msgspec.DecodeError as error:
            raise Broken(str(error)) from None

    def _begun(self) -> bool:
        """Say whether the list has a first element, and learn that one's first member."""
        if self._between is None:
            opening = self._opening.search(self._buffer)
            first = _FIRST.match(self._buffer, opening.end()) if opening else None
            if opening is None or first is None:
                self._whole = len(self._buffer) > LONGEST_HEAD
                return False
            self._between = re.compile(rb"(\}\s*,\s*)\{\s*" + re.escape(first[1]) + rb"\s*:")
            del self._buffer[: opening.end()]
        return True

    def _boundaries(self) -> Iterator[tuple[int, int, bytes]]:
        """Find where an element may end, how far from there the next begins, and the bytes that
        say so; the last of them first."""
        if self._separator:
            closing = self._buffer.rfind(self._separator, self._scanned)
            while closing >= 0:
                yield closing, self._gap, self._separator
                closing = self._buffer.rfind(self._separator, self._scanned, closing)
            return
        assert self._between is not None
        found = [
            (each.start(), len(each[1]), bytes(each[0]))
            for each in self._between.finditer(self._buffer, self._scanned)
        ]
        yield from reversed(found)

    def _listed(self, end: int) -> bytes:
        with memoryview(self._buffer) as buffer, buffer[:end] as elements:
            return b"".join((b"[", elements, b"]"))

    def _take_whole(self) -> None:
        log.warning("slurm.list_not_splittable", list=self._name)
        self._whole = True

    def _rest(self) -> tuple[list[T], Envelope]:
        if self._between is None:
            return self._document(bytes(self._buffer))
        if not self._whole:
            for end in _END.finditer(self._buffer):
                try:
                    last = self._decode(self._listed(end.start() + 1))
                except msgspec.DecodeError:
                    continue
                return [last], read(self._opened(self._buffer[end.end() - 1 :]), Envelope)
            self._take_whole()
        return self._document(self._opened(self._buffer))

    def _document(self, text: bytes) -> tuple[list[T], Envelope]:
        members = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
        elements = members.get(self._name, b"null")
        found = [] if bytes(elements) == b"null" else [self._decode(elements)]
        return found, read(text, Envelope)

    def _opened(self, rest: bytearray) -> bytes:
        return b'{"' + self._name.encode() + b'":[' + rest

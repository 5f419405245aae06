"""Reading a list of jobs while it arrives, never holding more than a few of them.

slurmrestd writes a list as one JSON document; fifty thousand jobs are 400 MB of it.
All elements of the list begin with the same member, so the bytes between two
elements look like `},{"account":` and cannot occur inside a JSON string, where the
quotes would be escaped. The name of that member is learned from the first element.

The bytes can occur inside an element, if that holds a list of objects that begin
alike. Then the piece before them is not an object, and is joined with the next; if
joining does not help, the rest of the reply is taken whole, and it is logged.
"""

import re
from collections.abc import Callable, Iterator
from typing import Generic, TypeAlias, TypeVar

import msgspec
import structlog

from clusterra.adapters.slurmrest.decode import Envelope, read

log = structlog.get_logger()

T = TypeVar("T")

Piece: TypeAlias = bytes | bytearray | msgspec.Raw

OVERLAP = 256  # more than a separator is long, pretty-printed or not
JOINS = 64  # pieces joined before giving up; a job of today's Slurm needs none
LONGEST_HEAD = 65536  # where a list has not begun by then, there is none

_FIRST = re.compile(rb'\{\s*("[^"]*")\s*:')
_END = re.compile(rb"\}\s*\]")


class Broken(Exception):
    """The reply ended too early, or is not what it should be."""


class Elements(Generic[T]):
    """The elements of the list called `name`, handed out as they become complete."""

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
        self._joins = 0
        self._whole = False

    def feed(self, chunk: bytes) -> Iterator[T]:
        """Take the next bytes and hand out what they complete."""
        self._buffer += chunk
        if self._whole or not self._begun():
            return
        start = 0
        at = self._scanned
        while (found := self._boundary(at)) is not None:
            closing, opening, separator = found
            at = opening
            try:
                element = self._decode(self._buffer[start : closing + 1])
            except msgspec.DecodeError:
                self._joins += 1
                if self._joins > JOINS:
                    self._take_whole()
                    break
                continue
            self._joins = 0
            self._separator, self._gap = separator, opening - closing
            start = opening
            yield element
        del self._buffer[:start]
        self._scanned = max(at - start, len(self._buffer) - OVERLAP)

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

    def _boundary(self, at: int) -> tuple[int, int, bytes] | None:
        """Find where an element may end and the next begin, and the bytes that say so."""
        if self._separator:
            closing = self._buffer.find(self._separator, at)
            return None if closing < 0 else (closing, closing + self._gap, self._separator)
        assert self._between is not None
        found = self._between.search(self._buffer, at)
        return None if found is None else (found.start(), found.end(1), bytes(found[0]))

    def _take_whole(self) -> None:
        log.warning("slurm.list_not_splittable", list=self._name)
        self._whole = True

    def _rest(self) -> tuple[list[T], Envelope]:
        if self._between is None:
            return self._document(bytes(self._buffer))
        if not self._whole:
            for end in _END.finditer(self._buffer):
                try:
                    last = self._decode(self._buffer[: end.start() + 1])
                except msgspec.DecodeError:
                    continue
                return [last], read(self._opened(self._buffer[end.end() - 1 :]), Envelope)
            self._take_whole()
        return self._document(self._opened(self._buffer))

    def _document(self, text: bytes) -> tuple[list[T], Envelope]:
        members = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
        elements = msgspec.json.decode(members.get(self._name, b"[]"), type=list[msgspec.Raw])
        return [self._decode(each) for each in elements], read(text, Envelope)

    def _opened(self, rest: bytearray) -> bytes:
        return b'{"' + self._name.encode() + b'":[' + rest

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
from typing import Generic, TypeVar

import msgspec
import structlog

from clusterra.adapters.slurmrest.decode import Envelope, read

log = structlog.get_logger()

T = TypeVar("T")

OVERLAP = 256  # more than a separator is long, pretty-printed or not
JOINS = 64  # pieces joined before giving up; an element of ours has no such list at all
LONGEST_HEAD = 65536  # where a list has not begun by then, this is no list

_FIRST = re.compile(rb'\{\s*("[^"]*")\s*:')
_END = re.compile(rb"\}\s*\]")


class Broken(Exception):
    """The reply ended too early, or is not what it should be."""


class Elements(Generic[T]):
    """The elements of the list called `name`, handed out as they become complete."""

    def __init__(self, name: str, decode: Callable[[bytes], T]) -> None:
        self._name = name
        self._opening = re.compile(rb'"' + name.encode() + rb'"\s*:\s*\[\s*(?=[^\s])')
        self._decode = decode
        self._buffer = bytearray()
        self._between: re.Pattern[bytes] | None = None
        self._scanned = 0
        self._joins = 0
        self._whole = False

    def feed(self, chunk: bytes) -> Iterator[T]:
        """Take the next bytes and hand out what they complete."""
        self._buffer += chunk
        if self._whole or (self._between is None and not self._begin()):
            return
        assert self._between is not None
        start = 0
        for found in self._between.finditer(self._buffer, self._scanned):
            try:
                element = self._decode(bytes(self._buffer[start : found.start() + 1]))
            except msgspec.DecodeError:
                self._joins += 1
                if self._joins > JOINS:
                    self._take_whole()
                    break
                continue
            self._joins = 0
            start = found.end() - 1
            yield element
        del self._buffer[:start]
        self._scanned = max(0, len(self._buffer) - OVERLAP)

    def finish(self) -> tuple[list[T], Envelope]:
        """Hand out what is left once all bytes are there, and what surrounded the list."""
        try:
            return self._remains()
        except msgspec.DecodeError as error:
            raise Broken(str(error)) from None

    def _begin(self) -> bool:
        """Find the list's first element and learn its first member; say whether there is one."""
        opening = self._opening.search(self._buffer)
        if opening is None:
            self._whole = len(self._buffer) > LONGEST_HEAD
            return False
        first = _FIRST.match(self._buffer, opening.end())
        if first is None:
            return False
        self._between = re.compile(rb"\}\s*,\s*\{(?=\s*" + re.escape(first[1]) + rb"\s*:)")
        del self._buffer[: opening.end()]
        return True

    def _take_whole(self) -> None:
        log.warning("slurm.list_not_splittable", list=self._name)
        self._whole = True

    def _remains(self) -> tuple[list[T], Envelope]:
        if self._between is None:
            return self._list(bytes(self._buffer))
        if not self._whole:
            for end in _END.finditer(self._buffer):
                try:
                    last = self._decode(bytes(self._buffer[: end.start() + 1]))
                except msgspec.DecodeError:
                    continue
                return [last], read(self._around(b"", self._buffer[end.end() - 1 :]), Envelope)
            self._take_whole()
        return self._list(self._around(self._buffer, b""))

    def _list(self, document: bytes) -> tuple[list[T], Envelope]:
        found = msgspec.json.decode(document, type=dict[str, msgspec.Raw])
        elements = msgspec.json.decode(found.get(self._name, b"[]"), type=list[msgspec.Raw] | None)
        return [self._decode(bytes(each)) for each in elements or ()], read(document, Envelope)

    def _around(self, elements: bytes | bytearray, rest: bytes | bytearray) -> bytes:
        return b'{"' + self._name.encode() + b'":[' + elements + rest

"""Bring what hooks wrote down to the server: in order, until it is there.

A round sends everything that waits, oldest first, at most 500 facts at a time. While the
server is away, or says that it has enough for now, the spool keeps; pauses grow and are
never quite the same, so that many collectors do not come back all at once. A fact that
the server will never take is put aside with its reason, and holds up nobody.
"""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from clusterra.agent.note import Note
from clusterra.agent.notice import Notice
from clusterra.agent.spool import Spool
from clusterra.client.connection import Connection
from clusterra.core.errors import (
    ClusterraError,
    Invalid,
    Refused,
    Unauthenticated,
    Unreachable,
)

PATH = "/v1/internal/events"
BATCH = 500
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 30.0
LOOK_AGAIN = 5.0
"""Seconds between looks at a spool of which we are told: on a network disk nobody tells us."""

TIDY_EVERY = 10.0
STALE = 2.0
"""Seconds after which a kept connection is not trusted: servers close idle ones after five."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    """What the collector has to say of itself."""

    what: str
    """shipped · refused · waiting · back · gap"""
    facts: int = 0
    why: str = ""
    seconds: float = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Failure:
    index: int
    status: int
    code: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Taken:
    accepted: int
    duplicates: int = 0
    results: tuple[_Failure, ...] = ()


@dataclass(slots=True, kw_only=True)
class Collector:
    spool: Spool
    url: str
    cluster: str
    key_file: Path
    tell: Callable[[Happened], None]
    shipped: int = 0
    refused: int = 0
    _connection: Connection | None = field(default=None)
    _used_at: float = 0
    _failures: int = 0
    _tidied_at: float = 0

    def run(self, notice: Notice) -> None:
        """Collect until told to stop."""
        while True:
            pause = LOOK_AGAIN
            try:
                self.round()
                if self._failures:
                    self.tell(Happened(what="back", facts=self.shipped))
                self._failures = 0
            except ClusterraError as error:
                pause = self._pause(error)
                self.tell(Happened(what="waiting", why=error.detail, seconds=pause))
            if notice.wait(pause, only_stop=bool(self._failures)):
                return

    def round(self) -> None:
        """Send everything that waits. Raises what kept it from being sent."""
        try:
            self._round()
        except OSError as error:
            raise self.spool.unusable(error) from None

    def _round(self) -> None:
        if (now := time.monotonic()) - self._tidied_at >= TIDY_EVERY or not self._tidied_at:
            self._tidied_at = now
            if lost := self.spool.tidy():
                self.tell(Happened(what="gap", facts=lost))
        while notes := self.spool.notes():
            for start in range(0, len(notes), BATCH):
                readable = self._read(notes[start : start + BATCH])
                if readable:
                    self._ship(readable)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def _read(self, notes: Sequence[Note]) -> list[tuple[Note, dict[str, Any]]]:
        found = ((note, self.spool.read(note)) for note in notes)
        return [(note, item) for note, item in found if item is not None]

    def _ship(self, batch: Sequence[tuple[Note, dict[str, Any]]]) -> None:
        """Send a batch; one that is refused as a whole is sent in halves, to find the culprit."""
        try:
            taken = self._post([item for _, item in batch])
        except (Invalid, Refused) as error:
            if len(batch) == 1:
                if error.code == type(error).code:
                    raise  # by somebody between us and the server, who knows nothing of facts
                self._refuse(batch[0][0], f"{error.code}: {error.detail}")
                return
            half = len(batch) // 2
            self._ship(batch[:half])
            self._ship(batch[half:])
            return
        bad = {each.index: each for each in taken.results}
        for index, failure in bad.items():
            self._refuse(batch[index][0], f"{failure.code}: {failure.detail}")
        self.spool.done(note for index, (note, _) in enumerate(batch) if index not in bad)
        self.shipped += taken.accepted
        self.tell(Happened(what="shipped", facts=taken.accepted))

    def _refuse(self, note: Note, why: str) -> None:
        self.spool.refuse(note, why)
        self.refused += 1
        self.tell(Happened(what="refused", facts=1, why=f"{note.name}: {why}"))

    def _post(self, items: list[dict[str, Any]]) -> _Taken:
        connection = self._connected()
        body = msgspec.json.encode({"events": items})
        reply = connection.send("POST", PATH, body, {"X-Cluster-ID": self.cluster})
        self._used_at = time.monotonic()
        try:
            return msgspec.json.decode(reply.body, type=_Taken)
        except msgspec.DecodeError as error:
            raise ClusterraError(
                f"{self.url} answered something a collector does not know: {error}.",
                hint="Check that the address is Clusterra's.",
            ) from None

    def _connected(self) -> Connection:
        if self._connection is None or self._failures:
            # Read anew after a failure: the key may have come, or have been replaced.
            self.close()
            self._connection = Connection(self.url, token=read_key(self.key_file), timeout=30)
        elif time.monotonic() - self._used_at > STALE:
            self._connection.close()
        return self._connection

    def _pause(self, error: ClusterraError) -> float:
        self._failures += 1
        least = error.retry_after if isinstance(error, Unreachable) and error.code == "busy" else 0
        longest = min(FIRST_PAUSE * 2.0 ** (self._failures - 1), LONGEST_PAUSE)
        return max(least, longest) * random.uniform(0.5, 1.0)  # noqa: S311 - not a secret


def read_key(file: Path) -> str:
    try:
        key = file.read_text().strip()
    except OSError as error:
        raise Unauthenticated(
            f"The key {file} cannot be read: {error.strerror}.",
            hint="Copy keys/<cluster>.key from the server's state directory, readable for"
            " the collector's user only.",
        ) from None
    except UnicodeDecodeError:
        key = ""
    if not key or not key.isascii() or not key.isprintable():
        raise Unauthenticated(
            f"{file} does not hold a key.", hint="Name the right file with --key-file."
        )
    return key

"""The part of the API about what jobs write, where that is more than one answer.

It is reached as `client.logs`.
"""

from base64 import b64decode
from collections.abc import Generator, Iterator
from typing import Any
from urllib.parse import quote, urlencode

import msgspec

from clusterra.client.connection import Connection
from clusterra.client.people import Ask
from clusterra.client.stream import Told, told
from clusterra.wire.output import OutputMatches

SILENCE = 45.0
"""Seconds without a byte after which it is taken for dead: three missed heartbeats."""


class JobLogs:
    def __init__(self, connection: Connection, ask: Ask) -> None:
        self._connection = connection
        self._ask = ask

    def pieces(
        self, cluster: str, job: str | int, *, stream: str = "stdout", lines: int | None = None
    ) -> Generator[bytes, None, None]:
        """Yield what a job has written, or the last lines of it, as it arrives."""
        path = _at(cluster, job) + _asking(stream=stream, lines=lines)
        return self._connection.pieces(path, {"Accept": "text/plain"}, silence=SILENCE)

    def search(
        self,
        cluster: str,
        job: str | int,
        text: str,
        *,
        stream: str = "stdout",
        ignore_case: bool = False,
        limit: int | None = None,
    ) -> OutputMatches:
        """Return the lines of what a job has written that contain a text."""
        folded = "true" if ignore_case else None
        asked = _asking(grep=text, stream=stream, ignore_case=folded, limit=limit)
        return self._ask(OutputMatches, "GET", _at(cluster, job) + asked)

    def follow(
        self,
        cluster: str,
        job: str | int,
        *,
        stream: str = "stdout",
        at: int | None = None,
        lines: int | None = None,
    ) -> Iterator[Told]:
        """Yield what a job writes after byte `at`, until the server ends it."""
        path = _at(cluster, job) + "/stream" + _asking(stream=stream, lines=lines)
        headers = {"Accept": "text/event-stream"}
        if at is not None:
            headers["Last-Event-ID"] = str(at)
        return told(self._connection.lines(path, headers, silence=SILENCE))


def piece_of(data: bytes) -> bytes:
    """Return the bytes of a job's output that an event brings."""
    said: dict[str, Any] = msgspec.json.decode(data)
    return said["text"].encode() if "text" in said else b64decode(said["base64"])


def _at(cluster: str, job: str | int) -> str:
    return f"/v1/clusters/{quote(cluster, safe='')}/jobs/{quote(str(job), safe='')}/output"


def _asking(**asked: str | int | None) -> str:
    given = {name: value for name, value in asked.items() if value is not None}
    return f"?{urlencode(given)}" if given else ""

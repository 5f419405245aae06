"""Show what a job writes while it is waited for: as it comes, and at the end the rest of it."""

from dataclasses import dataclass, field

import click

from clusterra.cli.amounts import file_size
from clusterra.cli.jobs.telling import handle
from clusterra.cli.live import LiveLine
from clusterra.cli.screen import say
from clusterra.cli.session import Session
from clusterra.core.errors import NotFound, Refused, Unreachable
from clusterra.wire.jobs import JobView

SMALL = 16 * 1024
"""Bytes that are shown whole when they come at once."""

LAST_LINES = 20


@dataclass(slots=True, kw_only=True)
class Output:
    """What of a job's output has been shown so far."""

    session: Session
    cluster: str
    line: LiveLine
    _at: dict[str, int] = field(default_factory=dict)
    _begun: dict[str, bytes] = field(default_factory=dict)
    """The beginning of a line whose end has not come."""

    def show_new(self, job: JobView) -> None:
        """Print what has come since the last time; errors too if they go elsewhere."""
        for stream in _streams(job):
            try:
                self._take(job, stream)
            except (NotFound, Refused, Unreachable):
                continue  # not there yet, or not to be had from here: the end says which

    def show_rest(self, job: JobView) -> str:
        """Print what is left, and return how much there was in all, as `2.1 kB` or `none`.

        Empty when that cannot be known from here.
        """
        words = ""
        for stream in _streams(job):
            try:
                size = self._take(job, stream)
                said = file_size(size) if size else "empty"
            except NotFound:
                said = "none"
            except Refused:
                said = ""
            self._flush(stream)
            words = words or said
        return words

    def _take(self, job: JobView, stream: str) -> int:
        """Print what is new of a stream, and return how long it is."""
        at = self._at.get(stream, 0)
        found = self.session.client.output(
            self.cluster, handle(job), stream=stream, start=at, most=SMALL
        )
        left = found.size - at
        if left > SMALL:
            # More at once than anybody reads: its end, and where to find all of it.
            found = self.session.client.output(self.cluster, handle(job), stream=stream, tail=SMALL)
            option = " --stderr" if stream == "stderr" else ""
            self._flush(stream)
            self._left_out(
                f"… its last lines; all of it: clusterra jobs logs {handle(job)}{option}"
            )
            self._print(stream, last_lines(found.data, LAST_LINES))
        elif found.data:
            self._print(stream, found.data)
        self._at[stream] = max(at, found.start + len(found.data))
        return max(found.size, self._at[stream])

    def _print(self, stream: str, data: bytes) -> None:
        data = self._begun.pop(stream, b"") + data
        if self.line.screen.live:
            # A line that is not whole would run into the one that is drawn below it.
            whole = data.rfind(b"\n") + 1
            data, rest = data[:whole], data[whole:]
            if rest:
                self._begun[stream] = rest
        if data:
            self.line.clear()
            click.echo(data, nl=False)

    def _flush(self, stream: str) -> None:
        if begun := self._begun.pop(stream, b""):
            self.line.clear()
            click.echo(begun)

    def _left_out(self, words: str) -> None:
        self.line.clear()
        say(words, error=True)


def _streams(job: JobView) -> tuple[str, ...]:
    if job.stderr and job.stderr != job.stdout:
        return ("stdout", "stderr")
    return ("stdout",)


def last_lines(data: bytes, lines: int) -> bytes:
    """Return the last `lines` lines; a line cut off at the front is left out."""
    kept = data.splitlines(keepends=True)
    return b"".join(kept[-lines:] if len(kept) > 1 else kept)

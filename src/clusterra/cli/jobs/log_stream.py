"""Follow what a job writes through whatever cuts the connection.

The server says with each piece where in the file it ends, so following goes on at that byte:
nothing is printed twice and nothing is left out.
"""

from collections.abc import Iterator

import click
import msgspec

from clusterra.cli.screen import say, tame
from clusterra.cli.session import Session
from clusterra.client.logs import piece_of
from clusterra.client.stream import Told
from clusterra.core.errors import ClusterraError, Unreachable

_FIRST_PAUSE = 0.2
_LONGEST_PAUSE = 15.0
_AGAIN = {
    "truncated": "was begun again",
    "replaced": "was replaced by another file",
    "shorter": "has become shorter",
    "missing": "is not there any more",
}


class LogStream:
    def __init__(
        self,
        session: Session,
        cluster: str,
        job: str,
        stream: str,
        *,
        lines: int | None,
        as_json: bool,
    ) -> None:
        self._session = session
        self._cluster = cluster
        self._job = job
        self._stream = stream
        self._lines = lines
        self._as_json = as_json
        self._at: int | None = None
        """Up to where it has been printed."""
        self._pause = _FIRST_PAUSE
        self._cut_off = False

    def run(self) -> None:
        """Print until the job is over; raise what will not mend itself, and what went wrong first."""
        while True:
            why = "The server ended the stream."
            try:
                for told in self._told():
                    if self._is_last(told):
                        return
            except Unreachable as error:
                if self._at is None:
                    raise
                why = error.detail
            self._rest(why)

    def _told(self) -> Iterator[Told]:
        return self._session.client.logs.follow(
            self._cluster, self._job, stream=self._stream, at=self._at, lines=self._lines
        )

    def _is_last(self, told: Told) -> bool:
        """Print what was told; say whether nothing comes after it."""
        if self._cut_off:
            say(f"Connected again at byte {self._at:,}.", error=True)
        self._cut_off, self._pause = False, _FIRST_PAUSE
        if self._as_json and told.type:
            say(told.data.decode())
        elif told.type == "output":
            click.echo(piece_of(told.data), nl=False)
        elif told.type == "reset":
            said = msgspec.json.decode(told.data, type=dict[str, str | int])
            how = _AGAIN.get(str(said.get("reason")), "begins again")
            say(f"What job {self._job} writes to {how}; it follows from its beginning.", error=True)
        # Only now: what was not printed is asked for again.
        if told.seq is not None:
            self._at = told.seq
        if told.type == "error":
            raise _ended_by(told.data)
        return told.type == "end"

    def _rest(self, why: str) -> None:
        if not self._cut_off:
            say(f"{tame(why)} Connecting again at byte {self._at or 0:,}.", error=True)
        self._cut_off = True
        self._session.watch.wait(self._pause)
        self._pause = min(self._pause * 2, _LONGEST_PAUSE)


def _ended_by(data: bytes) -> ClusterraError:
    said = msgspec.json.decode(data, type=dict[str, str])
    return ClusterraError(said["detail"], code=said["code"])

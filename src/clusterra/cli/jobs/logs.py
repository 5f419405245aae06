"""`clusterra jobs logs`: what a job has written, once or as it goes on."""

import click

from clusterra.cli.jobs.naming import complete
from clusterra.cli.jobs.output import last_lines
from clusterra.cli.jobs.telling import has_ended
from clusterra.cli.options import pass_session, server_options
from clusterra.cli.screen import say
from clusterra.cli.session import Session
from clusterra.client.client import JobOutput
from clusterra.core.errors import NotFound

_EVERY = 1.0  # seconds between two looks at a growing file
_GLANCE = 16 * 1024  # bytes at the end of a file that is followed
_BYTES_PER_LINE = 200
"""First guess at how many bytes hold so many lines; doubled until they do."""


@click.command()
@server_options
@click.argument("job_id", metavar="JOB", shell_complete=complete)
@click.option("--follow", "-f", is_flag=True, help="Go on as it is written, until the job ends.")
@click.option(
    "--tail", type=click.IntRange(min=1), metavar="N", help="Only the last N lines, to begin with."
)
@click.option("--stderr", is_flag=True, help="Its errors, if they go to a file of their own.")
@pass_session
def logs(session: Session, *, job_id: str, follow: bool, tail: int | None, stderr: bool) -> None:
    """Print what a job has written."""
    reader = Reader(session, session.cluster_id(), job_id, "stderr" if stderr else "stdout")
    if not follow:
        reader.once(tail)
        return
    try:
        reader.follow(tail)
    except KeyboardInterrupt:
        say(f"Stopped reading; job {job_id} goes on.", error=True)
        click.get_current_context().exit(130)


class Reader:
    def __init__(self, session: Session, cluster: str, job: str, stream: str) -> None:
        self._session = session
        self._cluster = cluster
        self._job = job
        self._stream = stream

    def once(self, lines: int | None) -> None:
        click.echo(self._read().data if lines is None else self._last(lines), nl=False)

    def follow(self, lines: int | None) -> None:
        """Print what is there and then what comes, until the job has ended."""
        printed = 0
        while True:
            # The state before the output: what is written in between is then read once more.
            ended = has_ended(self._session.client.job(self._cluster, self._job))
            try:
                new, printed = self._after(printed)
            except NotFound:
                if ended:
                    raise
                new = b""
            if lines is not None and new:
                new, lines = last_lines(new, lines), None
            click.echo(new, nl=False)
            if ended:
                return
            self._session.watch.wait(_EVERY)

    def _after(self, printed: int) -> tuple[bytes, int]:
        """Return what came after byte `printed`, and where the file ends now."""
        output = self._read(tail=_GLANCE) if printed else self._read()
        while output.start > printed:  # more has come than a glance shows
            output = self._read(tail=output.size - printed + _GLANCE)
        if output.size < printed:  # a requeued job begins its file again
            return self._after(0)
        return output.data[printed - output.start :], output.start + len(output.data)

    def _last(self, lines: int) -> bytes:
        size = lines * _BYTES_PER_LINE
        while True:
            output = self._read(tail=size)
            if output.start == 0 or output.data.count(b"\n") > lines:
                return last_lines(output.data, lines)
            size *= 2

    def _read(self, *, tail: int | None = None) -> JobOutput:
        return self._session.client.output(self._cluster, self._job, stream=self._stream, tail=tail)

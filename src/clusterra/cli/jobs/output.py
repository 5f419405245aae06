"""Show the end of what a job has written."""

from dataclasses import dataclass

import click

from clusterra.cli.amounts import file_size
from clusterra.cli.jobs.telling import handle
from clusterra.cli.screen import say
from clusterra.cli.session import Session
from clusterra.core.errors import NotFound, Refused
from clusterra.wire.jobs import JobView

SMALL = 16 * 1024
"""Bytes of output that are shown whole."""

LAST_LINES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    size_words: str = ""
    """How much there is, as `2.1 kB` or `none`; empty when that cannot be known from here."""


def show_output(session: Session, cluster: str, job: JobView) -> Shown:
    """Print a job's output, or its last lines if it is long; errors too if they went elsewhere."""
    shown = _show(session, cluster, job, "stdout")
    if job.stderr and job.stderr != job.stdout:
        _show(session, cluster, job, "stderr")
    return shown


def _show(session: Session, cluster: str, job: JobView, stream: str) -> Shown:
    try:
        output = session.client.output(cluster, handle(job), stream=stream, tail=SMALL)
    except NotFound:
        return Shown(size_words="none")
    except Refused:
        return Shown()
    data = output.data
    if output.start:
        data = last_lines(data, LAST_LINES)
        option = " --stderr" if stream == "stderr" else ""
        say(f"… its last lines; all of it: clusterra jobs logs {handle(job)}{option}", error=True)
    if data:
        click.echo(data, nl=not data.endswith(b"\n"))
    return Shown(size_words=file_size(output.size) if output.size else "empty")


def last_lines(data: bytes, lines: int) -> bytes:
    """Return the last `lines` lines; a line cut off at the front is left out."""
    kept = data.splitlines(keepends=True)
    return b"".join(kept[-lines:] if len(kept) > 1 else kept)

"""`clusterra jobs watch`: one job to its end, or the list as it changes."""

import shutil
from contextlib import suppress
from datetime import datetime
from typing import NoReturn

import click

from clusterra.cli.failures import pointed
from clusterra.cli.jobs.follow import wait_for
from clusterra.cli.jobs.list import listing
from clusterra.cli.jobs.naming import complete
from clusterra.cli.jobs.telling import ending, has_ended, remark
from clusterra.cli.options import json_option, pass_session, server_options
from clusterra.cli.screen import say, tame
from clusterra.cli.seen import now_there
from clusterra.cli.session import Session
from clusterra.cli.words import state_words
from clusterra.core.errors import Invalid, NotFound, Unreachable
from clusterra.wire.jobs import JobView

_EVERY = 2.0  # seconds; the server itself looks at Slurm about that often
_MOST = 200  # jobs followed in a pipe
_TOP = "\x1b[H"
_CLEAR = "\x1b[2J\x1b[H"
_REST_OF_LINE = "\x1b[K"
_REST_OF_SCREEN = "\x1b[J"


@click.command()
@server_options
@click.argument("job", required=False, shell_complete=complete)
@click.option("--query", default="", metavar="QUERY", help="Without JOB: which jobs. [state:live]")
@json_option
@pass_session
def watch(session: Session, *, job: str | None, query: str, as_json: bool) -> None:
    """Follow JOB to its end and exit with its code; without JOB, keep the list on the screen.

    Ctrl-C stops watching, never a job.
    """
    cluster = session.cluster_id()
    if job:
        code = wait_for(session, cluster, job, as_json=as_json, aside=as_json)
        click.get_current_context().exit(code)
    wanted = query or "state:live"
    try:
        if as_json:
            _as_json(session, cluster, wanted)
        elif session.screen.live:
            _on_screen(session, cluster, wanted)
        else:
            _in_a_pipe(session, cluster, wanted)
    except Invalid as error:
        raise pointed(error, wanted) from None
    except KeyboardInterrupt:
        say("Stopped watching; the jobs go on.", error=True)
        click.get_current_context().exit(130)


def _as_json(session: Session, cluster: str, query: str) -> NoReturn:
    while True:
        session.client.jobs(cluster, query)
        session.say_answer()
        session.watch.wait(_EVERY)


def _on_screen(session: Session, cluster: str, query: str) -> NoReturn:
    lines: list[str] = []
    click.echo(_CLEAR, nl=False, color=True)
    while True:
        screen = session.screen
        try:
            page = session.client.jobs(cluster, query)
        except Unreachable as error:
            # What was seen stays on the screen; that it is getting old is added below.
            tail = [screen.paint(f"{error.detail} Asking again.", "red")]
        else:
            lines, tail = listing(page.jobs, page, query, screen, session.watch.now()), []
        room = shutil.get_terminal_size().lines - 1 - len(tail)
        drawn = "".join(f"{line}{_REST_OF_LINE}\n" for line in [*lines[:room], *tail])
        click.echo(_TOP + drawn + _REST_OF_SCREEN, nl=False, color=True)
        session.watch.wait(_EVERY)


def _in_a_pipe(session: Session, cluster: str, query: str) -> NoReturn:
    """Print one line per job whenever its state changes, and one when it leaves the list."""
    told: dict[str, str] = {}
    while True:
        page = session.client.jobs(cluster, query, limit=_MOST)
        now = now_there(page, session.watch.now())
        found = {job.label: job for job in page.jobs}
        for label in [label for label in told if label not in found]:
            del told[label]
            with suppress(NotFound):
                say(_news(session.client.job(cluster, label), now))
        for label, job in found.items():
            if told.get(label) != (news := _news(job, now)):
                say(news)
            told[label] = news
        session.watch.wait(_EVERY)


def _news(job: JobView, now: datetime) -> str:
    words = state_words(job.state, job.flags, job.reason)
    how = ending(job) if has_ended(job) else f"{words.short} {remark(job, now)}".rstrip()
    return tame(f"{words.mark} {job.label} {job.name} ({job.user}): {how}")

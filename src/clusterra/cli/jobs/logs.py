"""`clusterra jobs logs`: what a job has written, once or as it goes on."""

import click

from clusterra.cli.jobs.log_stream import LogStream
from clusterra.cli.jobs.naming import complete
from clusterra.cli.jobs.telling import cost_words, ending, has_ended
from clusterra.cli.options import json_option, pass_session, server_options
from clusterra.cli.screen import Screen, say, tame
from clusterra.cli.session import Session
from clusterra.cli.words import state_words
from clusterra.core.errors import Invalid
from clusterra.wire.output import OutputMatch

_MOST = 1000
"""Lines that are printed of those that contain a text."""


@click.command()
@server_options
@click.argument("job_id", metavar="JOB", shell_complete=complete)
@click.option("--follow", "-f", is_flag=True, help="Go on as it is written, until the job ends.")
@click.option("--task", type=click.IntRange(min=0), metavar="N", help="Of an array: this task.")
@click.option("--stderr", is_flag=True, help="Its errors, if they go to a file of their own.")
@click.option(
    "--tail",
    "-n",
    type=click.IntRange(min=1),
    metavar="N",
    help="Only the last N lines, to begin with.",
)
@click.option("--grep", metavar="TEXT", help="Only lines that contain TEXT, with their numbers.")
@click.option("--ignore-case", "-i", is_flag=True, help="With --grep: a is A.")
@json_option
@pass_session
def logs(
    session: Session,
    *,
    job_id: str,
    follow: bool,
    task: int | None,
    tail: int | None,
    stderr: bool,
    grep: str | None,
    ignore_case: bool,
    as_json: bool,
) -> None:
    """Print what a job has written, byte for byte.

    With --follow it goes on through cut connections, and says at the end on stderr how the job went.
    """
    job = job_id if task is None else f"{job_id}_{task}"
    stream = "stderr" if stderr else "stdout"
    _check(follow=follow, grep=grep, tail=tail, as_json=as_json)
    cluster = session.cluster_id()
    if grep is not None:
        _search(session, cluster, job, stream, grep, ignore_case=ignore_case, as_json=as_json)
    elif follow:
        _follow(session, cluster, job, stream, lines=tail, as_json=as_json)
    else:
        for piece in session.client.logs.pieces(cluster, job, stream=stream, lines=tail):
            click.echo(piece, nl=False)


def _check(*, follow: bool, grep: str | None, tail: int | None, as_json: bool) -> None:
    if grep is not None and (follow or tail):
        raise Invalid(
            "--grep looks through all that is there.",
            hint="To look through what comes: clusterra jobs logs JOB -f | grep TEXT",
        )
    if as_json and not follow and grep is None:
        raise Invalid(
            "Output is what the job wrote, and no JSON.",
            hint="--json goes with --grep, and with --follow.",
        )


def _search(
    session: Session,
    cluster: str,
    job: str,
    stream: str,
    text: str,
    *,
    ignore_case: bool,
    as_json: bool,
) -> None:
    found = session.client.logs.search(
        cluster, job, text, stream=stream, ignore_case=ignore_case, limit=_MOST
    )
    if as_json:
        session.say_answer()
    else:
        for match in found.matches:
            say(_line(match, session.screen))
        if found.more:
            say(f"… these are the first {_MOST}; there may be more.", error=True)
    if not found.matches:
        if not as_json:
            say(f"No line of what job {job} has written contains {tame(text)!r}.", error=True)
        click.get_current_context().exit(1)


def _line(match: OutputMatch, screen: Screen) -> str:
    shown = f"…{match.text}…" if match.cut else match.text
    return f"{screen.faint(f'{match.line}:')} {tame(shown.expandtabs())}"


def _follow(
    session: Session, cluster: str, job: str, stream: str, *, lines: int | None, as_json: bool
) -> None:
    try:
        LogStream(session, cluster, job, stream, lines=lines, as_json=as_json).run()
    except KeyboardInterrupt:
        say(
            f"Stopped reading; job {job} goes on. Cancel it with: clusterra jobs cancel {job}",
            error=True,
        )
        click.get_current_context().exit(130)
    if not as_json:
        _tell_end(session, cluster, job)


def _tell_end(session: Session, cluster: str, job: str) -> None:
    view = session.client.job(cluster, job)
    if not has_ended(view):
        return  # it was made to run again meanwhile
    words, screen = state_words(view.state), session.screen_for(aside=True)
    cost = f" · {cost_words(view)}" if view.cost_final and view.cost_micros is not None else ""
    say(screen.paint(f"{words.mark} {ending(view)}", words.colour) + cost, error=True)

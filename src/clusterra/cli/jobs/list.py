"""`clusterra jobs list`: jobs as a table, live and past together."""

import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import click

from clusterra.cli.amounts import duration
from clusterra.cli.failures import pointed
from clusterra.cli.jobs.telling import asked_brief, cost_cell, handle, ran, remark, waited
from clusterra.cli.options import json_option, pass_session, server_options
from clusterra.cli.screen import Screen, say
from clusterra.cli.seen import age_words, now_there
from clusterra.cli.session import Session
from clusterra.cli.table import Cell, Column, table
from clusterra.cli.words import state_words
from clusterra.core.errors import Invalid
from clusterra.core.money import per_hour
from clusterra.core.words import count
from clusterra.wire.jobs import JobPage, JobView

COLUMNS = (
    Column("ID"),
    Column("NAME", name=True),
    Column("USER", name=True),
    Column("STATE"),
    Column("ASKED"),
    Column("WAITED", right=True),
    Column("RAN", right=True),
    Column("COST", right=True),
    Column("", note=True),
)
_COST = 7
"""Where the cost stands. It is left out where it is told of no job."""

_NEGATED = re.compile(r"-[A-Za-z_]+(:|=|<|>)")


class QueryCommand(click.Command):
    """Takes `-state:failed` for a word of the query; click would take it for options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words = [each for each in args if _NEGATED.match(each)]
        others = [each for each in args if not _NEGATED.match(each)]
        if words and "--" not in others:
            others.append("--")
        return super().parse_args(ctx, [*others, *words])


@click.command("list", cls=QueryCommand)
@server_options
@click.argument("query", nargs=-1)
@click.option("--mine", is_flag=True, help="Only your own jobs.")
@click.option("--user", metavar="NAME", help="Only jobs of this person.")
@click.option(
    "--state",
    metavar="STATE|DIR",
    help="Only jobs in these states (failed, or running,pending). A path is, as everywhere, "
    "the state directory of a server.",
)
@click.option("--sort", metavar="FIELD", help="submitted, ended, user, …; -ended is newest first.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="At most this many (50).")
@click.option("--all", "everything", is_flag=True, help="Every job that matches, page by page.")
@json_option
@pass_session
def list_jobs(
    session: Session,
    *,
    query: tuple[str, ...],
    mine: bool,
    user: str | None,
    state: str | None,
    sort: str | None,
    limit: int | None,
    everything: bool,
    as_json: bool,
) -> None:
    """List jobs, live and past, newest first.

    QUERY is made of words to search for and of fields: user:ana state:failed,timeout
    cpus>=4 ended<2d -partition:gpu. Quote < and > from the shell.
    """
    if state and ("/" in state or Path(state).is_dir()):
        session.state, state = Path(state), None
    if mine:
        user = session.client.people.me().login
    words = [*query]
    words += [f"{field}:{value}" for field, value in (("user", user), ("state", state)) if value]
    asked = " ".join(words)
    cluster = session.cluster_id()
    try:
        page = session.client.jobs(cluster, asked, sort=sort, limit=limit)
        found = list(page.jobs)
        while as_json or everything:
            if as_json:
                session.say_answer()
            if not everything or page.next is None:
                break
            page = session.client.jobs(cluster, asked, sort=sort, limit=limit, cursor=page.next)
            found += page.jobs
    except Invalid as error:
        raise pointed(error, asked) from None
    if not as_json:
        for line in listing(found, page, asked, session.screen, session.watch.now()):
            say(line)


def listing(
    jobs: Sequence[JobView], page: JobPage, query: str, screen: Screen, here: datetime
) -> list[str]:
    """Return what `jobs list` prints: the table and a footer, or what to do when it is empty."""
    if not jobs:
        return _nothing(page, query)
    now = now_there(page, here)
    columns, rows = list(COLUMNS), [row(job, now) for job in jobs]
    if not any(job.cost_micros is not None or job.cost_unknown for job in jobs):
        del columns[_COST]
        rows = [[*each[:_COST], *each[_COST + 1 :]] for each in rows]
    return [*table(columns, rows, screen), _footer(jobs, page, query, screen)]


def row(job: JobView, now: datetime) -> list[str | Cell]:
    words = state_words(job.state, job.flags, job.reason)
    run_time = ran(job, now)
    return [
        job.label,
        job.name,
        job.user,
        Cell(str(words), words.colour),
        asked_brief(job),
        duration(waited(job, now)),
        "–" if run_time is None else duration(run_time),
        cost_cell(job),
        Cell(remark(job, now), faint=True),
    ]


def _footer(jobs: Sequence[JobView], page: JobPage, query: str, screen: Screen) -> str:
    total = max(page.total, len(jobs))
    parts = [f"{len(jobs):,} of {count(total, 'job')}"]
    if burning := sum(job.usd_per_hour_micros or 0 for job in jobs):
        parts.append(f"burning {per_hour(burning)}")
    if old := age_words(page):
        parts.append(screen.paint(old, "yellow"))
    parts.append(_next_step(jobs, total, query))
    return " · ".join(parts)


def _next_step(jobs: Sequence[JobView], total: int, query: str) -> str:
    if total > len(jobs):
        narrower = "" if query else ", or only what is live: clusterra jobs list state:live"
        return f"the rest with --all{narrower}"
    for state, tail in (("PENDING", "for what it waits for"), ("FAILED", "for what happened")):
        if first := next((job for job in jobs if job.state == state), None):
            return f"`clusterra jobs show {handle(first)}` {tail}"
    return f"`clusterra jobs show {handle(jobs[0])}` for more of one"


def _nothing(page: JobPage, query: str) -> list[str]:
    old = age_words(page)
    if query:
        lines = [
            f"No job matches `{query}`.",
            "  Ask for words of its name, or for fields: user:ana state:failed 'cpus>=4' 'ended<2d'",
            "  All of them: clusterra jobs list",
        ]
    else:
        lines = [
            "No jobs yet. Submit the first one:",
            "  clusterra run -- hostname",
            "  clusterra jobs submit script.sh --wait",
        ]
    return [*lines, f"{old}."] if old else lines

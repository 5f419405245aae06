"""`clusterra usage statement`: a month of somebody as a page, or as a file."""

from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import click

from clusterra.cli.options import json_option, pass_session, server_options, workspace_option
from clusterra.cli.screen import Screen, cut_end, say, tame
from clusterra.cli.session import Session
from clusterra.cli.table import Cell, Column, table
from clusterra.cli.usage.telling import bar, price_words, waste_lines
from clusterra.cli.zone import local_zone
from clusterra.core.errors import Invalid
from clusterra.core.money import dollars, per_hour
from clusterra.core.words import count
from clusterra.wire.usage import JobSpentView, NamedSpent, PersonStatement, StatementView

_STDOUT = "-"


@click.command()
@server_options
@workspace_option
@click.option("--month", metavar="YYYY-MM", help="Which month. [this one]")
@click.option("--person", metavar="EMAIL", help="Whose; left out, your own.")
@click.option("--all", "everybody", is_flag=True, help="Everybody's: for admins.")
@click.option("--tz", metavar="ZONE", help="Where days begin: Europe/Berlin. [this machine's]")
@click.option("--csv", "file", metavar="FILE", help="Write it for a spreadsheet; - prints it.")
@json_option
@pass_session
def statement(
    session: Session,
    *,
    month: str | None,
    person: str | None,
    everybody: bool,
    tz: str | None,
    file: str | None,
    as_json: bool,
) -> None:
    """Show what a month came to and what it was made of: days, clusters, accounts, jobs."""
    if person and everybody:
        raise Invalid("Everybody is more than one person.", hint="Say either --person or --all.")
    where = tz or local_zone(session.environ)
    workspace = session.the_workspace().id
    meant = month or f"{_here(session.watch.now(), where):%Y-%m}"
    whose = "" if everybody else person or "me"
    ask = session.client.usage
    if file:
        _write(file, ask.statement_csv(workspace, meant, person=whose, tz=where))
        return
    view = ask.statement(workspace, meant, person=whose, tz=where)
    if as_json:
        session.say_answer()
        return
    for line in page(view, session.screen, session.watch.now()):
        say(line)


def page(view: StatementView, screen: Screen, now: datetime) -> list[str]:
    standing = "final" if view.final else "provisional"
    title = f"Statement of {view.period.name} · {tame(view.workspace_name)} · {standing}"
    lines = [screen.paint(title, bold=True)]
    lines += [f"  {tame(why)}" for why in view.why_provisional]
    if not view.people:
        lines.append("  Nobody spent anything in this month.")
    for each in view.people:
        lines += ["", *_person(each, view, screen, now)]
    if len(view.people) > 1:
        lines += ["", f"All together: {dollars(view.work.micros)}"]
    if view.waste_micros:
        whole = view.work.micros + view.waste_micros
        lines += waste_lines(view.waste_micros, view.waste, whole, screen)
    if said := price_words(view.prices):
        lines.append(cut_end(f"  {tame(said)}", screen.width))
    lines.append(f"  Days begin at midnight in {tame(view.period.tz)}.")
    return lines


def _person(each: PersonStatement, view: StatementView, screen: Screen, now: datetime) -> list[str]:
    spent = each.spent
    jobs = count(spent.jobs, "job")
    live = f", {count(spent.running, 'job')} still running" if spent.running else ""
    head = f"{tame(each.person)}: {dollars(spent.micros)} · {jobs}{live}"
    lines = [screen.paint(head, bold=True)]
    today = f"{_here(now, view.period.tz):%Y-%m-%d}"
    lines += _amounts("DAY", [day for day in each.days if day.name <= today and day.micros], screen)
    lines += _amounts("CLUSTER", each.clusters, screen)
    lines += _amounts("ACCOUNT", each.accounts, screen)
    lines += _jobs("The most expensive jobs", [job for job in each.dearest if job.micros], screen)
    lines += _jobs("Still running, so far", each.running, screen)
    if each.unknown:
        lines.append("  Not known, and in no amount:")
        lines += [
            cut_end(f"    {tame(job.job)} {tame(job.name)}: {tame(job.why_unknown)}", screen.width)
            for job in each.unknown
        ]
    return lines


def _amounts(title: str, rows: list[NamedSpent], screen: Screen) -> list[str]:
    if not rows:
        return []
    most = max(row.micros for row in rows)
    columns = (
        Column(title, name=True),
        Column("COST", right=True),
        Column(""),
        Column("JOBS", right=True),
    )
    cells: list[list[str | Cell]] = [
        [
            row.name or "–",
            dollars(row.micros),
            Cell(bar(row.micros, most), "blue"),
            f"{row.jobs:,}",
        ]
        for row in rows
    ]
    return table(columns, cells, screen)


def _jobs(title: str, jobs: list[JobSpentView], screen: Screen) -> list[str]:
    if not jobs:
        return []
    columns = (
        Column("ID"),
        Column("NAME", name=True),
        Column("CLUSTER", name=True),
        Column("ACCOUNT", name=True),
        Column("COST", right=True),
        Column("", note=True),
    )
    rows: list[list[str | Cell]] = [
        [
            job.job,
            job.name,
            job.cluster,
            job.account or "–",
            dollars(job.micros),
            Cell(
                f"running, {per_hour(job.usd_per_hour_micros)}" if job.running else "", faint=True
            ),
        ]
        for job in jobs
    ]
    return [f"  {title}:", *table(columns, rows, screen)]


def _here(now: datetime, tz: str) -> datetime:
    try:
        return now.astimezone(ZoneInfo(tz))
    except (KeyError, ValueError, OSError):
        return now  # the server says that there is no such zone


def _write(file: str, data: bytes) -> None:
    if file == _STDOUT:
        say(data.decode().rstrip("\r\n"))
        return
    try:
        Path(file).write_bytes(data)
    except OSError as error:
        raise Invalid(
            f"{file} cannot be written: {error.strerror}.", hint="Say another file, or - to print."
        ) from None
    say(f"Written to {file}: {count(len(data.splitlines()) - 1, 'line')}.", error=True)

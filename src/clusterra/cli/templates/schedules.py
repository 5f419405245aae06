"""`clusterra templates schedules` and `unschedule`."""

import click

from clusterra.cli.options import json_option, pass_session, server_options
from clusterra.cli.screen import say, tame
from clusterra.cli.session import Session
from clusterra.cli.table import Cell, Column, table
from clusterra.core.words import count
from clusterra.wire.templates import ScheduleView

COLUMNS = (
    Column("SCHEDULE", name=True),
    Column("TEMPLATE", name=True),
    Column("USER"),
    Column("WHEN (UTC)"),
    Column("NEXT"),
    Column("LAST JOB", right=True),
    Column("", note=True),
)


@click.command("schedules")
@server_options
@json_option
@pass_session
def schedules(session: Session, *, as_json: bool) -> None:
    """List what is started again and again, and when next."""
    page = session.client.templates.schedules(session.cluster_id())
    if as_json:
        session.say_answer()
        return
    if not page.schedules:
        say("Nothing is started by itself.")
        say("  Every Monday at six:  clusterra templates submit hello --schedule '0 6 * * 1'")
        return
    say(session.screen.paint(f"{count(page.total, 'schedule')}.", bold=True))
    for line in table(COLUMNS, [_row(each) for each in page.schedules], session.screen):
        say(line)
    say(f"  No more of one:  clusterra templates unschedule {page.schedules[0].id}")


@click.command("unschedule")
@server_options
@click.argument("schedule")
@json_option
@pass_session
def unschedule(session: Session, *, schedule: str, as_json: bool) -> None:
    """Start SCHEDULE no more: its id or the beginning of it. Its jobs are not touched."""
    gone = session.client.templates.unschedule(session.cluster_id(), schedule)
    if as_json:
        session.say_answer()
        return
    say(f"{tame(gone.template_id)} ({gone.id}) is not started by itself any more.")


def _row(each: ScheduleView) -> list[str | Cell]:
    return [
        each.id,
        each.template_id,
        each.user,
        each.cron,
        f"{each.next_at:%Y-%m-%d %H:%M}",
        str(each.last_job_id or "–"),
        Cell(each.last_problem, "yellow"),
    ]

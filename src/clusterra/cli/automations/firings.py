"""`clusterra automations firings`: what one did."""

import click

from clusterra.cli.automations.naming import the_automation
from clusterra.cli.automations.words import became, outcome
from clusterra.cli.moments import ago
from clusterra.cli.options import json_option, pass_session, server_options, workspace_option
from clusterra.cli.screen import say, tame
from clusterra.cli.session import Session
from clusterra.cli.table import Cell, Column, table
from clusterra.core.words import count
from clusterra.wire.automations import FiringView

COLUMNS = (
    Column("WHEN"),
    Column("EVENT", name=True),
    Column("JOB"),
    Column("NAME", name=True),
    Column("DOES"),
    Column("OUTCOME"),
    Column("", note=True),
)


@click.command("firings")
@server_options
@click.argument("automation")
@click.option("--limit", type=int, metavar="N", help="So many, the newest. [50]")
@workspace_option
@json_option
@pass_session
def firings(session: Session, *, automation: str, limit: int | None, as_json: bool) -> None:
    """Show what AUTOMATION did, what it still has to do, and what it left alone."""
    found = the_automation(session, automation)
    page = session.client.automations.firings(found.id, limit=limit)
    if as_json:
        session.say_answer()
        return
    if not page.firings:
        say(f"{tame(found.name)} has had nothing to do yet.")
        say(f"  What it would have done:  clusterra automations dry-run {found.id}")
        return
    done = sum(each.state == "done" for each in page.firings)
    say(f"{tame(found.name)} has acted {count(done, 'time')}; {len(page.firings)} shown.")
    now = session.watch.now()
    rows: list[list[str | Cell]] = [
        [
            ago(each.at, now),
            each.cause_type,
            _job(each),
            each.name,
            each.action,
            outcome(each),
            became(each),
        ]
        for each in page.firings
    ]
    for line in table(COLUMNS, rows, session.screen):
        say(line)
    job = next((each.made_job_id or each.job_id for each in page.firings if each.job_id), None)
    if job:
        say(f"  All of one:  clusterra jobs timeline {job}")


def _job(firing: FiringView) -> str:
    return firing.label or ("" if firing.job_id is None else str(firing.job_id))

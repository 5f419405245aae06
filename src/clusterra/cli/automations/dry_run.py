"""`clusterra automations dry-run`: what one would have done about what happened."""

from typing import Any

import click

from clusterra.cli.automations.add import with_webhooks
from clusterra.cli.automations.naming import the_automation
from clusterra.cli.automations.wanting import wanted, wanting_options
from clusterra.cli.moments import ago
from clusterra.cli.options import json_option, pass_session, server_options, workspace_option
from clusterra.cli.screen import say
from clusterra.cli.session import Session
from clusterra.cli.table import Cell, Column, table
from clusterra.core.money import dollars
from clusterra.core.words import count
from clusterra.wire.automations import Rehearsal

COLUMNS = (
    Column("WHEN"),
    Column("EVENT", name=True),
    Column("JOB"),
    Column("NAME", name=True),
    Column("USER"),
    Column("DOES"),
    Column("", note=True),
)


@click.command("dry-run")
@server_options
@click.argument("automation", required=False)
@wanting_options
@click.option("--since", default="", metavar="WHEN", help="How far back: 7d, 2026-05-14. [30d]")
@workspace_option
@json_option
@pass_session
def dry_run(
    session: Session, /, *, automation: str | None, since: str, as_json: bool, **said: Any
) -> None:
    """Say what AUTOMATION would have done, or one that is described as for `add`.

    \b
      clusterra automations dry-run more-memory --since 7d
      clusterra automations dry-run --when job.timeout --retry
    """
    body: dict[str, Any]
    if automation:
        if any(said.values()):
            raise click.UsageError("Name an automation or describe one; not both.")
        body = {"id": the_automation(session, automation).id}
    else:
        body = {"automation": with_webhooks(session, wanted(said))}
        if session.named_workspace():
            body["workspace"] = session.the_workspace().id
    if since:
        body["since"] = since
    found = session.client.automations.dry_run(body)
    if as_json:
        session.say_answer()
        return
    _tell(session, found)


def _tell(session: Session, found: Rehearsal) -> None:
    now = session.watch.now()
    since = f"{found.since.astimezone():%Y-%m-%d}"
    say(session.screen.paint(_headline(found, since), bold=True))
    rows: list[list[str | Cell]] = [
        [
            ago(each.at, now),
            each.cause_type,
            each.label or ("" if each.job_id is None else str(each.job_id)),
            each.name,
            each.user,
            Cell("–", faint=True) if each.stopped else each.action,
            each.stopped,
        ]
        for each in found.would
    ]
    if rows:
        for line in table(COLUMNS, rows, session.screen):
            say(line)
    if found.acted + found.stopped > len(rows):
        say(f"  and {found.acted + found.stopped - len(rows):,} more")
    if found.cut_off:
        say(f"  Only {count(found.events, 'event')} were read: say a later --since.")
    say("  Nothing was done.")


def _headline(found: Rehearsal, since: str) -> str:
    if not found.acted:
        return f"Since {since} it would have done nothing, of {count(found.events, 'event')} read."
    words = f"Since {since} it would have acted {count(found.acted, 'time')}"
    if found.jobs:
        words += f" for {count(found.jobs, 'job')}"
    if found.stopped:
        words += f", and stopped {count(found.stopped, 'time')}"
    if found.cost_micros:
        words += f"; those jobs cost {dollars(found.cost_micros)}"
    return f"{words}."

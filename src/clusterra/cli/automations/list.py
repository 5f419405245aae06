"""`clusterra automations list`."""

import click

from clusterra.cli.automations.words import does, state_of
from clusterra.cli.interest import in_words
from clusterra.cli.options import json_option, pass_session, server_options, workspace_option
from clusterra.cli.screen import say
from clusterra.cli.session import Session
from clusterra.cli.table import Cell, Column, table
from clusterra.cli.which_one import called
from clusterra.core.words import count
from clusterra.wire.automations import AutomationPage, AutomationView

COLUMNS = (
    Column("NAME", name=True),
    Column("STATE"),
    Column("WHEN", name=True),
    Column("DOES", name=True),
    Column("OWNER", name=True),
)

NONE_YET = (
    "No automations yet: nothing is done by itself.",
    "  more memory   clusterra automations add --when job.out_of_memory --retry",
    "  the next step clusterra automations add --when job.completed --job-name align --submit next.sh",
    "  for one job   clusterra jobs submit align.sh --retry 2",
)


@click.command("list")
@server_options
@workspace_option
@json_option
@pass_session
def list_automations(session: Session, *, as_json: bool) -> None:
    """List your automations; admins see everybody's."""
    named = session.named_workspace()
    page = session.client.automations.list(session.the_workspace().id if named else "")
    if as_json:
        session.say_answer()
        return
    if not page.automations:
        for line in NONE_YET:
            say(line)
        return
    say(session.screen.paint(_headline(page), bold=True))
    for line in table(COLUMNS, [_row(each) for each in page.automations], session.screen):
        say(line)
    say(f"  What one did:  clusterra automations firings {called(page.automations[0])}")


def _headline(page: AutomationPage) -> str:
    off = sum(each.state != "on" for each in page.automations)
    words = count(page.total, "automation")
    return f"{words}; {off} {'does' if off == 1 else 'do'} not act." if off else f"{words}, on."


def _row(automation: AutomationView) -> list[str | Cell]:
    return [
        automation.name or automation.id,
        state_of(automation),
        in_words(automation.when),
        does(automation),
        automation.owner or Cell("gone", "red"),
    ]

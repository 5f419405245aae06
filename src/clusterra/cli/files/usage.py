"""`clusterra files usage`: how much there is, and of whom."""

import click

from clusterra.cli.amounts import file_size
from clusterra.cli.options import json_option, pass_session, server_options
from clusterra.cli.screen import say
from clusterra.cli.session import Session
from clusterra.cli.table import Cell, Column, table
from clusterra.core.words import count

COLUMNS = (
    Column("OF", name=True),
    Column("LOCATION"),
    Column("FILES", right=True),
    Column("SIZE", right=True),
)


@click.command("usage")
@server_options
@json_option
@pass_session
def show_usage(session: Session, /, *, as_json: bool) -> None:
    """Show how much there is, location by location; for admins, everybody's."""
    found = session.client.files.usage(session.cluster_id())
    if as_json:
        session.say_answer()
        return
    say(f"{count(found.files, 'file')}, {file_size(found.bytes)}.")
    rows: list[list[str | Cell]] = [
        [each.owner or "everybody", each.location, f"{each.files:,}", file_size(each.bytes)]
        for each in found.held
    ]
    for line in table(COLUMNS, rows, session.screen):
        say(line)

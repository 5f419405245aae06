"""`clusterra files versions`: what was put under one name, newest first."""

import click

from clusterra.cli.amounts import file_size
from clusterra.cli.files.naming import remote
from clusterra.cli.moments import ago
from clusterra.cli.options import json_option, pass_session, server_options
from clusterra.cli.screen import say, tame
from clusterra.cli.session import Session
from clusterra.cli.table import Cell, Column, table
from clusterra.core.words import count

COLUMNS = (
    Column("VERSION", name=True),
    Column("SIZE", right=True),
    Column("PUT", right=True),
    Column("SHA256"),
)


@click.command("versions")
@server_options
@click.argument("name")
@json_option
@pass_session
def list_versions(session: Session, /, *, name: str, as_json: bool) -> None:
    """List the versions of NAME, as scripts/train.sh."""
    page = session.client.files.versions(session.cluster_id(), remote(name))
    if as_json:
        session.say_answer()
        return
    now = session.watch.now()
    rows: list[list[str | Cell]] = [
        [each.version, file_size(each.size), ago(each.modified_at, now), each.sha256[:12]]
        for each in page.versions
    ]
    for line in table(COLUMNS, rows, session.screen):
        say(line)
    last = page.versions[-1].version
    say(
        f"{count(len(rows), 'version')} · fetch one:"
        f" clusterra files get {tame(name)} --version {tame(last)}"
    )

"""`clusterra files ls`: what there is, in a folder or below it."""

import click

from clusterra.cli.amounts import file_size
from clusterra.cli.files.naming import remote
from clusterra.cli.moments import ago
from clusterra.cli.options import json_option, pass_session, server_options
from clusterra.cli.screen import say, tame
from clusterra.cli.session import Session
from clusterra.cli.table import Cell, Column, table
from clusterra.core.words import count
from clusterra.wire.files import FilePage, FilePlace

COLUMNS = (
    Column("NAME", name=True),
    Column("SIZE", right=True),
    Column("MODIFIED", right=True),
    Column("SHA256"),
)


@click.command("ls")
@server_options
@click.argument("folder", default="")
@json_option
@pass_session
def list_files(session: Session, /, *, folder: str, as_json: bool) -> None:
    """List FOLDER, as data/run7/; without one, the locations."""
    place = remote(folder) if folder else FilePlace(location="", path="")
    files, cluster = session.client.files, session.cluster_id()
    pages: list[FilePage] = []
    for page in files.pages(cluster, place):
        pages.append(page)
        if as_json:
            session.say_answer()
    if as_json:
        return
    rows = _rows(pages, session)
    if not rows:
        say(f"There is nothing in {tame(folder)}.")
        return
    for line in table(COLUMNS, rows, session.screen):
        say(line)
    found = [each for page in pages for each in page.files]
    if found:
        total = file_size(sum(each.size for each in found))
        first = f"{place.location}/{found[0].path}"
        say(f"{count(len(found), 'file')}, {total} · fetch one: clusterra files get {tame(first)}")
    else:
        inner = pages[0].folders[0].path
        where = f"{place.location}/{inner}" if place.location else inner
        say(f"{count(len(rows), 'folder')} · look into one: clusterra files ls {tame(where)}/")


def _rows(pages: list[FilePage], session: Session) -> list[list[str | Cell]]:
    now = session.watch.now()
    rows: list[list[str | Cell]] = [
        [f"{each.name}/", "", "", ""] for page in pages for each in page.folders
    ]
    for page in pages:
        for each in page.files:
            age = ago(each.modified_at, now)
            rows.append([each.name, file_size(each.size), age, each.sha256[:12]])
    return rows

"""`clusterra keys`: what the collector and the agent of a cluster show to report.

Two can live at once, so that machines change over from the old to the new one.
"""

from datetime import datetime

import click

from clusterra.cli.moments import ago, day
from clusterra.cli.options import json_option, pass_session, server_options
from clusterra.cli.screen import say, tame
from clusterra.cli.session import Session
from clusterra.cli.table import Cell, Column, table
from clusterra.core.words import count
from clusterra.wire.people import KeyView

COLUMNS = (
    Column("ID"),
    Column("FOR"),
    Column("NAME", name=True),
    Column("MADE"),
    Column("BY", name=True),
    Column("LAST USED"),
)


@click.group()
@server_options
def keys() -> None:
    """Keys of a cluster: its collector and agent report with one."""


@keys.command("list")
@server_options
@json_option
@pass_session
def list_keys(session: Session, *, as_json: bool) -> None:
    """List the keys of the cluster. The keys themselves are shown once, when they are made."""
    cluster = session.cluster_id()
    page = session.client.people.keys(cluster)
    if as_json:
        session.say_answer()
        return
    if not page.keys:
        say(f"The cluster {tame(cluster)} has no keys. Make one with: clusterra keys create")
        return
    now = session.watch.now()
    for line in table(COLUMNS, [_row(each, now) for each in page.keys], session.screen):
        say(line)
    say(f"{count(page.total, 'key')} · end one: clusterra keys revoke {page.keys[0].id}")


@keys.command("create")
@server_options
@click.option("--name", default="", help="What it is for, or where.")
@click.option(
    "--for",
    "use",
    type=click.Choice(["collector", "agent"]),
    default="collector",
    show_default=True,
    help="Who shows it.",
)
@json_option
@pass_session
def create_key(session: Session, *, name: str, use: str, as_json: bool) -> None:
    """Make a key for the cluster. Only the key is on stdout:

    \b
      clusterra keys create --name head > collector.key
    """
    made = session.client.people.create_key(session.cluster_id(), name, use)
    if as_json:
        session.say_answer()
        return
    say(
        f"The key {_called(made.info)} of the cluster {tame(made.info.cluster)} is shown once. "
        "When every machine has it, revoke the old one.",
        error=True,
    )
    say(tame(made.key))


@keys.command("revoke")
@server_options
@click.argument("id")
@json_option
@pass_session
def revoke_key(session: Session, *, id: str, as_json: bool) -> None:
    """Revoke a key of the cluster: machines that have no other report nothing any more."""
    gone = session.client.people.revoke_key(session.cluster_id(), id)
    if as_json:
        session.say_answer()
        return
    say(f"The key {_called(gone)} of the cluster {tame(gone.cluster)} is revoked.")


def _row(key: KeyView, now: datetime) -> list[str | Cell]:
    return [
        key.id,
        tame(key.use),
        key.name or Cell("–", faint=True),
        day(key.created_at),
        key.created_by.removeprefix("user:"),
        ago(key.last_used_at, now),
    ]


def _called(key: KeyView) -> str:
    return f"{tame(key.name)} ({key.id})" if key.name else key.id

"""`clusterra partitions`: the queues jobs are put into."""

import click

from clusterra.cli.amounts import limit
from clusterra.cli.options import json_option, pass_session, server_options
from clusterra.cli.screen import say
from clusterra.cli.seen import age_words
from clusterra.cli.session import Session
from clusterra.cli.table import Cell, Column, table
from clusterra.core.words import count
from clusterra.wire.clusters import PartitionView

COLUMNS = (
    Column("NAME", name=True),
    Column("STATE"),
    Column("NODES", right=True),
    Column("CPUS", right=True),
    Column("LONGEST", right=True),
    Column("", note=True),
)


@click.group()
@server_options
def partitions() -> None:
    """See the queues jobs are put into."""


@partitions.command("list")
@server_options
@json_option
@pass_session
def list_partitions(session: Session, *, as_json: bool) -> None:
    """List the partitions of the cluster."""
    page = session.client.partitions(session.cluster_id())
    if as_json:
        session.say_answer()
        return
    old = age_words(page)
    if page.partitions:
        for line in table(COLUMNS, [_row(each) for each in page.partitions], session.screen):
            say(line)
    parts = (
        count(len(page.partitions), "partition") if page.partitions else "No partitions",
        old,
        "submit into one with --partition" if len(page.partitions) > 1 else "",
    )
    say(" · ".join(part for part in parts if part))


def _row(partition: PartitionView) -> list[str | Cell]:
    up = partition.state.upper() == "UP"
    state = Cell(f"{'●' if up else '✗'} {partition.state.lower()}", "green" if up else "red")
    return [
        partition.name,
        state,
        str(partition.nodes_total),
        str(partition.cpus_total),
        "no limit" if partition.max_minutes is None else limit(partition.max_minutes),
        Cell("jobs go here unless told otherwise" if partition.default else "", faint=True),
    ]

"""`clusterra clusters`: the clusters a server looks after."""

import click

from clusterra.cli.amounts import count
from clusterra.cli.options import json_option, pass_session, server_options
from clusterra.cli.screen import Screen, say, tame
from clusterra.cli.seen import age_words
from clusterra.cli.session import Session
from clusterra.cli.table import Cell, Column, table
from clusterra.wire.clusters import ClusterView

COLUMNS = (
    Column("ID"),
    Column("NAME", name=True),
    Column("STATE"),
    Column("SLURM"),
    Column("NODES", right=True),
    Column("RUNNING", right=True),
    Column("WAITING", right=True),
    Column("", note=True),
)

_MARKS = {"up": ("●", "green"), "starting": ("◌", "yellow"), "unreachable": ("✗", "red")}


@click.group()
@server_options
def clusters() -> None:
    """See the clusters of this server."""


@clusters.command("list")
@server_options
@json_option
@pass_session
def list_clusters(session: Session, *, as_json: bool) -> None:
    """List the clusters of this server."""
    page = session.client.clusters()
    if as_json:
        session.say_answer()
        return
    if not page.clusters:
        say("No clusters yet. Start one on this machine with: clusterra up")
        return
    for line in table(COLUMNS, [_row(each) for each in page.clusters], session.screen):
        say(line)
    say(
        f"{count(page.total, 'cluster')} · more of one: clusterra clusters show {page.clusters[0].id}"
    )


@clusters.command("show")
@server_options
@click.argument("wanted", required=False, metavar="[ID|NAME]")
@json_option
@pass_session
def show_cluster(session: Session, *, wanted: str | None, as_json: bool) -> None:
    """Show one cluster, by id or name; without one, the one other commands would use."""
    session.cluster = wanted or session.cluster
    view = session.client.cluster(session.cluster_id())
    if as_json:
        session.say_answer()
        return
    for line in portrait(view, session.screen):
        say(line)


def _row(cluster: ClusterView) -> list[str | Cell]:
    mark, colour = _MARKS.get(cluster.state, ("?", None))
    return [
        cluster.id,
        cluster.name,
        Cell(f"{mark} {cluster.state}", colour),
        cluster.slurm.version if cluster.slurm else "–",
        str(sum(cluster.nodes.values())),
        str(cluster.jobs.get("RUNNING", 0)),
        str(cluster.jobs.get("PENDING", 0)),
        Cell(cluster.why or age_words(cluster), faint=True),
    ]


def portrait(cluster: ClusterView, screen: Screen) -> list[str]:
    mark, colour = _MARKS.get(cluster.state, ("?", None))
    state = screen.paint(f"{mark} {cluster.state}", colour)
    lines = [f"{screen.paint(tame(cluster.name), bold=True)} · {cluster.id} · {state}"]
    if cluster.why:
        lines.append(f"  {tame(cluster.why)}")
    if cluster.slurm:
        kept = "with accounting" if cluster.slurm.accounting else "without accounting"
        lines.append(f"  Slurm {cluster.slurm.version} · API {cluster.slurm.api_version} · {kept}")
    lines.append(f"  nodes  {_tally(cluster.nodes)}")
    lines.append(f"  jobs   {_tally(cluster.jobs)}")
    if old := age_words(cluster):
        lines.append(f"  {screen.paint(old, 'yellow')}.")
    return [*lines, "  Next:  clusterra jobs list"]


def _tally(counts: dict[str, int]) -> str:
    parts = [f"{number:,} {state.lower()}" for state, number in counts.items() if number]
    return " · ".join(parts) or "none"

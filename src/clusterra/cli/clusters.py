"""`clusterra clusters`: the clusters a server looks after, and adding to them."""

import base64
from pathlib import Path

import click

from clusterra.cli.agree import agreed
from clusterra.cli.options import json_option, pass_session, server_options, workspace_option
from clusterra.cli.screen import Screen, say, tame
from clusterra.cli.seen import age_words
from clusterra.cli.session import Session
from clusterra.cli.table import Cell, Column, table
from clusterra.core.errors import Invalid
from clusterra.core.words import count
from clusterra.wire.clusters import AddCluster, ClusterAdded, ClusterView

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
    """See the clusters of this server; add some, and remove them."""


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


@clusters.command("add")
@server_options
@click.argument("name")
@click.option("--slurm", default="", metavar="URL", help="Its slurmrestd, as http://head:6820.")
@click.option(
    "--jwt-key",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Slurm's HS256 key, a copy of the controller's jwt_hs256.key.",
)
@click.option("--region", default="", help="Of the cloud whose prices count. [default: us-east-1]")
@workspace_option
@json_option
@pass_session
def add_cluster(
    session: Session, *, name: str, slurm: str, jwt_key: Path | None, region: str, as_json: bool
) -> None:
    """Register a cluster whose workers are elsewhere, started and stopped by an agent there.

    Its id and the keys of its agent and collector are shown once.
    """
    added = session.client.add_cluster(
        AddCluster(
            name=name,
            workspace=session.the_workspace().id,
            slurm=slurm,
            jwt_key=_in_base64(jwt_key),
            region=region,
        )
    )
    if as_json:
        session.say_answer()
        return
    for line in _added_words(added, slurm):
        say(line)
    if added.warning:
        say(f"{session.screen.paint('!', 'yellow')} {tame(added.warning)}", error=True)


@clusters.command("remove")
@server_options
@click.argument("wanted", metavar="ID|NAME")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@json_option
@pass_session
def remove_cluster(session: Session, *, wanted: str, yes: bool, as_json: bool) -> None:
    """Look after a cluster no longer: one that was added with `clusters add`.

    Its keys end, and its agent is told that there is no such cluster. Its ledger is kept. Its
    workers are left as they are.
    """
    session.cluster = wanted
    cluster = session.cluster_id()
    words = f"{tame(cluster)} would not be looked after any more, and its keys would end."
    if not yes and not agreed(session, words, ask="Remove it?", nothing="Nothing was removed."):
        return
    gone = session.client.remove_cluster(cluster)
    if as_json:
        session.say_answer()
        return
    say(f"{tame(gone.name)} ({gone.cluster}) is no longer looked after. Its ledger is kept.")
    say("Its workers are as they were: stop its agent, and them, where they run.")


@clusters.command("rotate-key")
@server_options
@click.argument("wanted", required=False, metavar="[ID|NAME]")
@click.option(
    "--for",
    "use",
    type=click.Choice(["agent", "collector"]),
    default="agent",
    show_default=True,
    help="Who shows it.",
)
@json_option
@pass_session
def rotate_key(session: Session, *, wanted: str | None, use: str, as_json: bool) -> None:
    """Make a new key of a cluster's agent or collector. Only the key is on stdout.

    The old one is good until you revoke it, so that nothing stands still meanwhile.
    """
    session.cluster = wanted or session.cluster
    made = session.client.rotate_key(session.cluster_id(), use)
    if as_json:
        session.say_answer()
        return
    say(f"The new key of the {use} of {tame(made.cluster)} is shown once.", error=True)
    for old in made.old:
        say(
            f"The old one is good until you revoke it: clusterra keys revoke {tame(old)}"
            f" --cluster {tame(made.cluster)}",
            error=True,
        )
    say(tame(made.key))


def _in_base64(file: Path | None) -> str:
    if file is None:
        return ""
    try:
        return base64.b64encode(file.read_bytes()).decode()
    except OSError as error:
        raise Invalid(
            f"Slurm's key {file} cannot be read: {error.strerror}.",
            hint="Copy jwt_hs256.key from the slurmctld host, readable for you.",
        ) from None


def _added_words(added: ClusterAdded, slurm: str) -> list[str]:
    lines = [
        f"{tame(added.name)} is registered as {added.cluster}, in {tame(added.workspace)}.",
        f"  agent key      {tame(added.agent_key)}",
        f"  collector key  {tame(added.collector_key)}",
        "They are shown once. What an agent is told, and how: docs/guides/agent.md",
    ]
    if not slurm:
        lines.append(
            "No slurmrestd was named, so its agent is told nothing. When there is one, remove the"
            " cluster and add it again with --slurm and --jwt-key."
        )
    return lines


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

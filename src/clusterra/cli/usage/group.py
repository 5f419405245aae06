"""`clusterra usage`: what was spent in a period, as a table or as a file."""

import click

from clusterra.cli.lazy import Lazy, LazyGroup
from clusterra.cli.options import json_option, pass_session, server_options, workspace_option
from clusterra.cli.screen import say
from clusterra.cli.session import Session
from clusterra.cli.usage.telling import telling
from clusterra.cli.zone import local_zone
from clusterra.client.usage import WhichUsage
from clusterra.core.errors import Invalid

COMMANDS: dict[str, Lazy] = {
    "statement": Lazy(
        "clusterra.cli.usage.statement:statement", "The statement of a month, of a person or all."
    ),
}


@click.group(cls=LazyGroup, lazy=COMMANDS, invoke_without_command=True)
@server_options
@workspace_option
@click.option("--month", metavar="YYYY-MM", help="This month; left out, the present one.")
@click.option("--day", metavar="YYYY-MM-DD", help="One day.")
@click.option("--since", metavar="WHEN", help="From then on: 2026-11-03, or an age as 7d.")
@click.option("--until", metavar="WHEN", help="With --since: up to then. [now]")
@click.option(
    "--by",
    default="person",
    show_default=True,
    metavar="WHAT",
    help="person, workspace, account, partition, template, cluster, what, day or month, with "
    "commas; or job.",
)
@click.option("--person", metavar="EMAIL", help="Only what this person spent; `me` is you.")
@click.option("--limit", type=click.IntRange(1, 1000), metavar="N", help="How many jobs. [50]")
@click.option("--tz", metavar="ZONE", help="Where days begin: Europe/Berlin. [this machine's]")
@click.option("--csv", "as_csv", is_flag=True, help="Print a table for a spreadsheet.")
@json_option
@pass_session
@click.pass_context
def usage(
    context: click.Context,
    session: Session,
    *,
    month: str | None,
    day: str | None,
    since: str | None,
    until: str | None,
    by: str,
    person: str | None,
    limit: int | None,
    tz: str | None,
    as_csv: bool,
    as_json: bool,
) -> None:
    """Say what was spent: by whom, on what, and when. What still runs is counted up to now."""
    if context.invoked_subcommand is not None:
        return
    if month and day:
        raise Invalid("A day is in one month.", hint="Say either --month or --day.")
    wanted = WhichUsage(
        cluster=_cluster(session),
        workspace=session.the_workspace().id if session.named_workspace() else "",
        period=month or day or "",
        since=since or "",
        until=until or "",
        by=by,
        tz=tz or local_zone(session.environ),
        person=person or "",
        limit=limit,
    )
    if as_csv:
        say(session.client.usage.csv(wanted).decode().rstrip("\r\n"))
        return
    view = session.client.usage.show(wanted)
    if as_json:
        session.say_answer()
        return
    for line in telling(view, session.screen, session.watch.now()):
        say(line)


def _cluster(session: Session) -> str:
    """Return the cluster that was named; without one, it is about all of them."""
    named = session.cluster or session.environ.get("CLUSTERRA_CLUSTER")
    return session.cluster_id() if named else ""

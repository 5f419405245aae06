"""`clusterra audit`: who did what, when, and from where; newest first."""

from dataclasses import replace

import click

from clusterra.cli.amounts import moment
from clusterra.cli.events.words import about, colour_of, sentence, which
from clusterra.cli.options import json_option, pass_session, server_options, workspace_option
from clusterra.cli.screen import say
from clusterra.cli.session import Session
from clusterra.cli.table import Cell, Column, table
from clusterra.core.words import count
from clusterra.wire.events import EventPage, EventView

COLUMNS = (
    Column("TIME"),
    Column("WHO", name=True),
    Column("FROM"),
    Column("WHAT", note=True),
)

_USUAL = 50


@click.command()
@server_options
@click.option("--actor", default="", metavar="EMAIL", help="Only what this person did.")
@click.option(
    "--type",
    "types",
    multiple=True,
    metavar="TYPE",
    help="Only this type, or these: 'user.*', 'job.cancelled'. May be given repeatedly.",
)
@click.option("--since", default="", metavar="WHEN", help="From then on: 2d, 2026-03-02T12:00Z.")
@click.option("--until", default="", metavar="WHEN", help="Before then.")
@click.option(
    "--limit", type=click.IntRange(1, 1000), default=_USUAL, metavar="N", help="At most this many."
)
@workspace_option
@json_option
@pass_session
def audit(
    session: Session,
    *,
    actor: str,
    types: tuple[str, ...],
    since: str,
    until: str,
    limit: int,
    as_json: bool,
) -> None:
    """Show who did what, newest first, in all your workspaces or in one.

    Signing in, roles, tokens, keys, settings, and what people did to jobs.

    \b
      clusterra audit --actor ana@lab.example --since 2d
      clusterra audit --type 'user.*'
    """
    wanted = which(types=types, subject="", actor=actor, since=since, until=until)
    named = session.named_workspace()
    within = session.the_workspace().id if named else ""
    page = session.client.people.audit(within, wanted, limit=limit)
    if as_json:
        session.say_answer()
        return
    if page.events:
        rows = [_row(event, session) for event in page.events]
        for line in table(COLUMNS, rows, session.screen):
            say(line)
    say(_footer(page))


def _row(event: EventView, session: Session) -> list[str | Cell]:
    who = event.actor.removeprefix("user:")
    return [
        moment(event.time, session.watch.now()),
        Cell(who, faint=event.authtype != "user"),
        str(event.data.get("address") or "–"),
        Cell(deed(event, who), colour_of(event)),
    ]


def deed(event: EventView, who: str) -> str:
    """Return what was done, without what stands beside it: who did it, and from where."""
    data = {name: value for name, value in event.data.items() if name != "address"}
    said = sentence(replace(event, data=data))
    said = said.removeprefix(f"{who} ").removesuffix(f", by {who}")
    # Sentences about people and their tokens name them; those about jobs say "it".
    what = about(event)
    return f"{what}: {said}" if what.startswith(("job/", "node/")) else said


def _footer(page: EventPage) -> str:
    if not page.events:
        return "Nothing matches. All of it: clusterra audit"
    found = count(len(page.events), "event")
    if page.next is None:
        return f"{found} · as JSON: clusterra audit --json"
    oldest = page.events[-1].time.isoformat().replace("+00:00", "Z")
    return f"the newest {found} · earlier ones: add --until {oldest}"

"""`clusterra events list`: what happened, as a table."""

import click

from clusterra.cli.amounts import moment
from clusterra.cli.events.words import about, colour_of, sentence, which, which_options
from clusterra.cli.options import json_option, pass_session, server_options
from clusterra.cli.screen import say
from clusterra.cli.session import Session
from clusterra.cli.table import Cell, Column, table
from clusterra.core.words import count
from clusterra.wire.events import EventPage

COLUMNS = (
    Column("TIME"),
    Column("TYPE"),
    Column("SUBJECT", name=True),
    Column("ACTOR", name=True),
    Column("", note=True),
)

_USUAL = 50


@click.command("list")
@server_options
@which_options
@click.option("--since", default="", metavar="WHEN", help="From then on: 2d, 2026-03-02T12:00Z.")
@click.option("--until", default="", metavar="WHEN", help="Before then.")
@click.option(
    "--after",
    type=click.IntRange(min=0),
    metavar="N",
    help="From event N on, oldest first, instead of the newest.",
)
@click.option(
    "--limit", type=click.IntRange(1, 1000), default=_USUAL, metavar="N", help="At most this many."
)
@json_option
@pass_session
def list_events(
    session: Session,
    *,
    types: tuple[str, ...],
    subject: str,
    actor: str,
    since: str,
    until: str,
    after: int | None,
    limit: int,
    as_json: bool,
) -> None:
    """List what happened, newest last."""
    wanted = which(types=types, subject=subject, actor=actor, since=since, until=until)
    newest = after is None
    page = session.client.events(
        session.cluster_id(),
        wanted,
        after=after,
        last=limit if newest else None,
        limit=None if newest else limit,
    )
    if as_json:
        session.say_answer()
        return
    if page.events:
        for line in table(COLUMNS, _rows(page, session), session.screen):
            say(line)
    say(_footer(page, limit, newest=newest))


def _rows(page: EventPage, session: Session) -> list[list[str | Cell]]:
    now = session.watch.now()
    return [
        [
            moment(event.time, now),
            Cell(event.type, colour_of(event)),
            about(event),
            Cell(event.actor.removeprefix("user:"), faint=event.authtype != "user"),
            sentence(event),
        ]
        for event in page.events
    ]


def _footer(page: EventPage, limit: int, *, newest: bool) -> str:
    if not page.events:
        return "No events match. Follow what happens: clusterra events follow"
    found = count(len(page.events), "event")
    first, last = page.events[0].seq, page.events[-1].seq
    if page.next is not None:
        return f"{found} · more: clusterra events list --after {last}"
    if newest and len(page.events) == limit and first > 1:
        return (
            f"the newest {found} · more: --limit 1000, --since 2d · live: clusterra events follow"
        )
    return f"{found} · live: clusterra events follow --after {last}"

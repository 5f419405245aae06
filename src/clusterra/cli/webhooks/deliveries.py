"""`clusterra webhooks deliveries`: what was told and what was not, and one of them in full."""

import click

from clusterra.cli.amounts import moment
from clusterra.cli.interest import entries
from clusterra.cli.options import json_option, pass_session, server_options, workspace_option
from clusterra.cli.screen import say, tame
from clusterra.cli.session import Session
from clusterra.cli.table import Cell, Column, table
from clusterra.cli.webhooks.naming import the_event, the_webhook
from clusterra.cli.webhooks.test import first_lines
from clusterra.cli.webhooks.words import answer, milliseconds, outcome, split, tried
from clusterra.cli.which_one import called
from clusterra.wire.webhooks import (
    AttemptView,
    DeliveryDetail,
    DeliveryPage,
    DeliveryView,
    WebhookView,
)

COLUMNS = (
    Column("EVENT"),
    Column("TIME"),
    Column("TYPE"),
    Column("SUBJECT", name=True),
    Column("STATE"),
    Column("TRIES", right=True),
    Column("TOOK", right=True),
    Column("", note=True),
)

_USUAL = 25
_SHORT = 8


@click.command("deliveries")
@server_options
@click.argument("webhook")
@click.argument("event", required=False)
@click.option(
    "--only",
    "states",
    multiple=True,
    metavar="STATE",
    help="Such as are: pending, retry, ok, dead, kept.",
)
@click.option("--type", "types", multiple=True, metavar="TYPE", help="Only of such: 'job.*'.")
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(1, 1000),
    default=_USUAL,
    metavar="N",
    help="At most so many.",
)
@workspace_option
@json_option
@pass_session
def deliveries(
    session: Session,
    *,
    webhook: str,
    event: str | None,
    states: tuple[str, ...],
    types: tuple[str, ...],
    limit: int,
    as_json: bool,
) -> None:
    """List what WEBHOOK was told, newest first; or all about one EVENT: each try, each answer."""
    found = the_webhook(session, webhook)
    if event:
        detail = session.client.webhooks.delivery(found.id, the_event(session, found, event))
        if as_json:
            session.say_answer()
            return
        _tell_one(session, detail, found)
        return
    page = session.client.webhooks.deliveries(
        found.id, states=entries(states), types=entries(types), limit=limit
    )
    if as_json:
        session.say_answer()
        return
    if not page.deliveries:
        _tell_none(found, narrowed=bool(states or types))
        return
    say(session.screen.paint(_headline(found), bold=True))
    for line in table(COLUMNS, [_row(each, session) for each in page.deliveries], session.screen):
        say(line)
    say(_footer(page, found, limit))


def _tell_none(webhook: WebhookView, *, narrowed: bool) -> None:
    name = called(webhook)
    if narrowed:
        say(
            f"No delivery to {name} is like that. All of them:  clusterra webhooks deliveries {name}"
        )
        return
    say(f"Nothing that {name} is told of has happened yet.")
    say(f"  Try it:  clusterra webhooks test {name}")


def _headline(webhook: WebhookView) -> str:
    parts = [f"{webhook.delivered_day:,} told in the last 24 h", f"{webhook.waiting:,} waiting"]
    if webhook.kept:
        parts.append(f"{webhook.kept:,} kept")
    parts.append(f"{webhook.dead:,} given up")
    return f"{called(webhook)}: {' · '.join(parts)}"


def _row(delivery: DeliveryView, session: Session) -> list[str | Cell]:
    now = session.watch.now()
    note = delivery.why
    if delivery.next_at and delivery.attempts:
        note = f"{note} Again at {moment(delivery.next_at, now)}.".strip()
    if delivery.state == "ok" and delivery.status:
        note = f"answered {delivery.status}"
    return [
        delivery.event_id[:_SHORT],
        moment(delivery.at, now),
        delivery.type,
        delivery.subject,
        outcome(delivery),
        f"{delivery.attempts}/{delivery.most_attempts}",
        "–" if delivery.took_ms is None else milliseconds(delivery.took_ms),
        note,
    ]


def _footer(page: DeliveryPage, webhook: WebhookView, limit: int) -> str:
    name = called(webhook)
    bad = next((each for each in page.deliveries if each.state in ("dead", "retry")), None)
    one = bad or page.deliveries[0]
    number = len(page.deliveries)
    shown = "1 delivery" if number == 1 else f"{number:,} deliveries"
    more = f" · more: -n {min(limit * 4, 1000)}" if page.next else ""
    return f"{shown}{more} · one: clusterra webhooks deliveries {name} {one.event_id[:_SHORT]}"


def _tell_one(session: Session, detail: DeliveryDetail, webhook: WebhookView) -> None:
    screen, now, delivery = session.screen, session.watch.now(), detail.delivery
    say(screen.paint(tame(detail.sentence), bold=True))
    place = f"#{delivery.seq} of {tame(delivery.cluster)}"
    say(
        f"  {tame(delivery.type)} · {tame(delivery.subject)} · {moment(delivery.at, now)} · {place}"
    )
    say(f"  webhook-id {tame(delivery.event_id)}")
    for each in detail.attempts:
        _tell_attempt(session, each)
    if delivery.next_at and delivery.next_at > now:
        say(f"  The next try is at {moment(delivery.next_at, now)}.")
    if detail.event is None:
        say("  The event itself has left the ledger.")
    what = "Again" if delivery.state == "ok" else "Try it now"
    say(f"  {what}:  clusterra webhooks replay {called(webhook)} {tame(delivery.event_id)}")


def _tell_attempt(session: Session, attempt: AttemptView) -> None:
    screen = session.screen
    when = moment(attempt.at, session.watch.now())
    notes = [answer(attempt)]
    if attempt.replay:
        notes.append("a replay")
    if attempt.together > 1:
        notes.append(f"{attempt.together} events in one message")
    say(f"  {tried(attempt, screen)} try {attempt.number}  {when}  {' · '.join(notes)}")
    about = [split(attempt.timings), f"request {attempt.request_id}"]
    if attempt.remote:
        about.append(f"at {attempt.remote}")
    say(screen.faint(f"      {tame(' · '.join(about))}"))
    for line in first_lines(attempt.response, screen.width - 8):
        say(f"      {screen.faint('│')} {line}")

"""`clusterra webhooks replay`: deliver again what was not heard, or was never told."""

import click

from clusterra.cli.amounts import moment
from clusterra.cli.interest import entries
from clusterra.cli.options import json_option, pass_session, server_options, workspace_option
from clusterra.cli.screen import say
from clusterra.cli.session import Session
from clusterra.cli.webhooks.naming import the_event, the_webhook
from clusterra.cli.which_one import called
from clusterra.core.words import count
from clusterra.wire.webhooks import Replay, Replayed


@click.command("replay")
@server_options
@click.argument("webhook")
@click.argument("event", required=False)
@click.option(
    "--failed-since", default="", metavar="WHEN", help="All given up or kept since then: 2h."
)
@click.option(
    "--missing-since", default="", metavar="WHEN", help="All it was never told since then: 2h."
)
@click.option("--types", multiple=True, metavar="TYPE", help="Only of such: 'job.*'.")
@click.option("--dry-run", is_flag=True, help="Only say how many it would be.")
@workspace_option
@json_option
@pass_session
def replay(
    session: Session,
    *,
    webhook: str,
    event: str | None,
    failed_since: str,
    missing_since: str,
    types: tuple[str, ...],
    dry_run: bool,
    as_json: bool,
) -> None:
    """Deliver to WEBHOOK again: one EVENT, or all of a kind. Receivers see the same webhook-id.

    \b
      clusterra webhooks replay ci --failed-since 2h --dry-run
      clusterra webhooks replay ci --missing-since 2026-03-02T12:00Z --types 'job.*'
    """
    if sum(map(bool, (event, failed_since, missing_since))) != 1:
        raise click.UsageError(
            "Say what: an EVENT, --failed-since or --missing-since; one of them."
        )
    if event and types:
        raise click.UsageError("--types is about many; there is one EVENT.")
    found = the_webhook(session, webhook)
    wanted = Replay(
        event_id=the_event(session, found, event) if event else "",
        failed_since=failed_since,
        missing_since=missing_since,
        types=entries(types),
        dry_run=dry_run,
    )
    replayed = session.client.webhooks.replay(found.id, wanted)
    if as_json:
        session.say_answer()
        return
    _tell(session, replayed, called(found))


def _tell(session: Session, replayed: Replayed, name: str) -> None:
    events = count(replayed.count, "event")
    if not replayed.count:
        say(f"There is nothing to deliver to {name} again.")
        say(f"  See what there is:  clusterra webhooks deliveries {name}")
        return
    between = ""
    if replayed.first_at and replayed.last_at:
        now = session.watch.now()
        first, last = moment(replayed.first_at, now), moment(replayed.last_at, now)
        between = f", of {first}" if first == last else f", from {first} to {last}"
    if replayed.dry_run:
        say(f"{events} would be delivered to {name}{between}. Nothing was sent.")
        say("  Do it:  the same without --dry-run")
        return
    verb = "is" if replayed.count == 1 else "are"
    say(f"{events} {verb} being delivered to {name}{between}.")
    say(f"  Next:  clusterra webhooks deliveries {name}")

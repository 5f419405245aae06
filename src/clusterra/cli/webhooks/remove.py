"""`clusterra webhooks remove`."""

import click

from clusterra.cli.agree import agreed
from clusterra.cli.options import json_option, pass_session, server_options, workspace_option
from clusterra.cli.screen import say, tame
from clusterra.cli.session import Session
from clusterra.cli.webhooks.naming import the_webhook
from clusterra.cli.which_one import called
from clusterra.core.words import count


@click.command("remove")
@server_options
@click.argument("webhook")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@workspace_option
@json_option
@pass_session
def remove_webhook(session: Session, *, webhook: str, yes: bool, as_json: bool) -> None:
    """Tell WEBHOOK nothing any more. What it has not been told is dropped; its secret ends."""
    found = the_webhook(session, webhook)
    words = f"{tame(found.url)} would be told nothing any more"
    if left := found.waiting + found.kept:
        words += f", not even {count(left, 'event')} that it has not been told"
    ask = f"Remove {called(found)}?"
    if not yes and not agreed(session, f"{words}.", ask=ask, nothing="Nothing was removed."):
        return
    gone = session.client.webhooks.delete(found.id)
    if as_json:
        session.say_answer()
        return
    dropped = f" {count(gone.dropped, 'event')} had not been told." if gone.dropped else ""
    say(f"{tame(gone.name or gone.id)} is removed.{dropped}")
    say("  What happened stays in the ledger:  clusterra events list")

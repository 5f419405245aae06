"""`clusterra webhooks rotate`: a new secret, and an old one that works until it is in place."""

from datetime import timedelta

import click

from clusterra.cli.amounts import moment
from clusterra.cli.options import json_option, pass_session, server_options, workspace_option
from clusterra.cli.screen import say, tame
from clusterra.cli.session import Session
from clusterra.cli.webhooks.naming import the_webhook
from clusterra.cli.which_one import called
from clusterra.core.units import parse_duration
from clusterra.wire.webhooks import RotateSecret


@click.command("rotate")
@server_options
@click.argument("webhook")
@click.option(
    "--overlap", metavar="TIME", help="How long the old one works too: 1h, 7d, 0 for not. [24h]"
)
@workspace_option
@json_option
@pass_session
def rotate_secret(session: Session, *, webhook: str, overlap: str | None, as_json: bool) -> None:
    """Give WEBHOOK a new secret. For a while requests are signed with both."""
    wanted = RotateSecret() if overlap is None else RotateSecret(overlap_hours=_hours(overlap))
    found = the_webhook(session, webhook)
    rotated = session.client.webhooks.rotate(found.id, wanted)
    if as_json:
        session.say_answer()
        return
    say(f"The new secret of {called(found)}, shown this once:")
    say(f"  {session.screen.paint(tame(rotated.secret), bold=True)}")
    if rotated.old_until:
        until = moment(rotated.old_until, session.watch.now())
        say(
            f"Requests are signed with the old one too until {until}: put the new one in place by then."
        )
    else:
        say("The old one is signed with no more: put the new one in place now.")
    say(f"  Next:  clusterra webhooks test {called(found)}")


def _hours(text: str) -> float:
    if text.strip() == "0":
        return 0
    return parse_duration(text, at="--overlap") / timedelta(hours=1)

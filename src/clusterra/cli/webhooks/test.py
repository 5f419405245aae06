"""`clusterra webhooks test`: an event that is made up, sent once, and what came back."""

import click

from clusterra.cli.options import json_option, pass_session, server_options, workspace_option
from clusterra.cli.screen import cut_end, say, tame
from clusterra.cli.session import Session
from clusterra.cli.webhooks.naming import the_webhook
from clusterra.cli.webhooks.words import answer, milliseconds, split
from clusterra.cli.which_one import called
from clusterra.wire.webhooks import WebhookTested

_SHOWN = 5
"""Lines of an answer."""


@click.command("test")
@server_options
@click.argument("webhook")
@click.option("--type", "type_", default="", metavar="TYPE", help="Of which event. [job.completed]")
@workspace_option
@json_option
@pass_session
@click.pass_context
def try_webhook(
    context: click.Context, session: Session, /, *, webhook: str, type_: str, as_json: bool
) -> None:
    """Send WEBHOOK a made-up event, once, and show what it answered.

    Exits with 1 if it was not taken. The event is in no ledger and is not tried again.
    """
    found = the_webhook(session, webhook)
    tested = session.client.webhooks.test(found.id, type_)
    if as_json:
        session.say_answer()
    else:
        tell_tested(session, tested, called(found))
        say(
            f"  Next:  clusterra webhooks deliveries {called(found)}"
            if tested.ok
            else f"  Again:  clusterra webhooks test {called(found)}"
        )
    context.exit(0 if tested.ok else 1)


def tell_tested(session: Session, tested: WebhookTested, name: str) -> None:
    screen, attempt = session.screen, tested.attempt
    if tested.ok:
        took = milliseconds(attempt.timings.total_ms)
        words = f"{name} took a made-up {tame(tested.type)}: {answer(attempt)} in {took}."
        say(f"{screen.paint('✓', 'green')} {words}")
    else:
        words = f"{name} did not take a made-up {tame(tested.type)}: {answer(attempt)}."
        say(f"{screen.paint('✗', 'red')} {words}")
    say(screen.faint(f"  {split(attempt.timings)}"))
    for line in first_lines(attempt.response, screen.width - 4):
        say(f"  {screen.faint('│')} {line}")
    if tested.hint:
        say(f"  {tame(tested.hint)}")


def first_lines(text: str, width: int) -> list[str]:
    """Return how an answer begins, as it can be shown."""
    lines = [line for line in text.splitlines() if line.strip()]
    shown = [cut_end(tame(line), width) for line in lines[:_SHOWN]]
    return [*shown, "…"] if len(lines) > _SHOWN else shown

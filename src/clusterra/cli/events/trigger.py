"""`clusterra events trigger`: an event that did not happen, to see what follows if it does.

It is in no ledger. Without --forward the server sends it to the webhooks that would be told;
with it, it goes from here to a program on this machine, and no server is asked.
"""

from pathlib import Path

import click

from clusterra.cli.events.forward import Forward, line, say_secret, signing_secrets
from clusterra.cli.options import json_option, pass_session, server_options, workspace_option
from clusterra.cli.screen import say, tame
from clusterra.cli.session import Session
from clusterra.cli.webhooks.secrets import secret_options
from clusterra.cli.webhooks.test import first_lines, tell_tested
from clusterra.core.words import count
from clusterra.wire.webhooks import EventTriggered


@click.command("trigger")
@server_options
@click.argument("type_", metavar="TYPE")
@click.option("--forward", metavar="URL", help="Only to this address, from here: 3000.")
@secret_options
@workspace_option
@json_option
@pass_session
@click.pass_context
def trigger(
    context: click.Context,
    session: Session,
    /,
    *,
    type_: str,
    forward: str | None,
    secret: str | None,
    secret_file: Path | None,
    as_json: bool,
) -> None:
    """Make an event of TYPE up and send it to every webhook that would be told of one.

    \b
      clusterra events trigger job.failed
      clusterra events trigger job.failed --forward localhost:3000/hooks

    Exits with 1 if somebody did not take it.
    """
    if forward is not None:
        if as_json:
            raise click.UsageError(
                "--json shows what the API answers, and --forward asks it nothing."
            )
        signing = signing_secrets(session, secret, secret_file)
        context.exit(0 if _forward(session, type_, forward, signing) else 1)
    named = session.named_workspace()
    workspace = session.the_workspace().id if named else ""
    triggered = session.client.webhooks.trigger(type_, workspace)
    if as_json:
        session.say_answer()
    else:
        _tell(session, triggered)
    context.exit(0 if all(each.ok for each in triggered.results) else 1)


def _forward(session: Session, type: str, url: str, signing: tuple[list[str], bool]) -> bool:
    from clusterra.cli.events.made_up import made_up  # noqa: PLC0415 - only here is it needed

    secrets, made = signing
    forward = Forward(session, url, secrets)
    id, subject, body = made_up(type, session.watch.now())
    if made:
        say_secret(session, secrets[0])
    posted = forward.send(id, body)
    say(line(type, subject, posted, session.screen))
    for each in first_lines(posted.said.decode(errors="replace"), session.screen.width - 4):
        say(f"  {session.screen.faint('│')} {each}")
    if not posted.is_success:
        say("  Was it the signature?  clusterra webhooks verify --help")
    return posted.is_success


def _tell(session: Session, triggered: EventTriggered) -> None:
    type, results = tame(triggered.type), triggered.results
    if not results:
        say(f"No webhook would be told of {type}.")
        say(f"  Add one:  clusterra webhooks add URL --types {type}")
        return
    took = sum(each.ok for each in results)
    say(f"{took} of {count(len(results), 'webhook')} took a made-up {type}. It is in no ledger.")
    for each in results:
        tell_tested(session, each, tame(each.name or each.id))
    bad = next((each for each in results if not each.ok), None)
    one = tame((bad or results[0]).id)
    say(f"  Again:  clusterra webhooks test {one} --type {type}")

"""`clusterra webhooks add`: tell somebody from now on."""

from pathlib import Path

import click

from clusterra.cli.interest import entries, in_words
from clusterra.cli.options import json_option, pass_session, server_options, workspace_option
from clusterra.cli.screen import say, tame
from clusterra.cli.session import Session
from clusterra.cli.webhooks.wanting import (
    FORMATS,
    credential,
    credential_option,
    interest_options,
)
from clusterra.cli.webhooks.words import form_of
from clusterra.cli.which_one import called
from clusterra.wire.webhooks import AddWebhook, WebhookMade


@click.command("add")
@server_options
@click.argument("address", metavar="URL")
@interest_options
@click.option("--name", default="", help="What to call it. [from its address]")
@click.option("--format", type=click.Choice(FORMATS), help="How to tell it. [by its address]")
@click.option("--allow-private", is_flag=True, help="Its address is not a public one.")
@click.option("--ordered", is_flag=True, help="One at a time, in the order of the ledger.")
@click.option("--zone", default="", metavar="NAME", help="Of the times in messages. [yours]")
@click.option(
    "--per-second", type=float, default=0, metavar="N", help="At most so many. [no limit]"
)
@click.option("--ed25519", is_flag=True, help="Sign with the workspace's public key as well.")
@credential_option
@workspace_option
@json_option
@pass_session
def add_webhook(
    session: Session,
    *,
    address: str,
    types: tuple[str, ...],
    people: tuple[str, ...],
    partitions: tuple[str, ...],
    states: tuple[str, ...],
    names: tuple[str, ...],
    clusters: tuple[str, ...],
    severity: str | None,
    name: str,
    format: str | None,
    allow_private: bool,
    ordered: bool,
    zone: str,
    per_second: float,
    ed25519: bool,
    credential_file: Path | None,
    as_json: bool,
) -> None:
    """Tell URL of what happens: a chat, a program of yours, or mailto:somebody@lab.example.

    \b
      clusterra webhooks add https://hooks.slack.com/services/… --severity error
      clusterra webhooks add https://ci.lab.example/hook --types 'job.*' --person ana
      clusterra webhooks add mailto:ana@lab.example --types job.failed,job.timeout
      clusterra webhooks add https://api.github.com/repos/lab/paper/dispatches --credential-file token

    A secret with which the receiver verifies what it is sent is shown once.
    """
    named = session.named_workspace()
    wanted = AddWebhook(
        url=address,
        types=entries(types),
        name=name,
        format=format or "",
        workspace=session.the_workspace().id if named else "",
        clusters=entries(clusters),
        people=entries(people),
        partitions=entries(partitions),
        states=entries(states),
        names=entries(names),
        severity=severity or "",
        ordered=ordered,
        ed25519=ed25519,
        allow_private=allow_private,
        zone=zone,
        per_second=per_second,
        credential=credential(credential_file),
    )
    made = session.client.webhooks.add(wanted)
    if as_json:
        session.say_answer()
        return
    _tell(session, made)


def _tell(session: Session, made: WebhookMade) -> None:
    webhook = made.webhook
    named = f"{tame(webhook.name)} ({webhook.id})" if webhook.name else webhook.id
    say(f"The webhook {named} tells {tame(webhook.url)} of {in_words(webhook)}.")
    say(f"  As:      {form_of(webhook)}")
    if made.secret:
        say(f"  Secret:  {session.screen.paint(tame(made.secret), bold=True)}")
        say("           It is shown this once. The receiver verifies with it what it is sent.")
    if webhook.public_key:
        say(f"  Public:  {tame(webhook.public_key)}")
    for each in made.warnings:
        say(f"{session.screen.paint('!', 'yellow')} {tame(each)}", error=True)
    say(f"  Next:    clusterra webhooks test {called(webhook)}")

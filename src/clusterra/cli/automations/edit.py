"""`clusterra automations edit`, `on` and `off`."""

from pathlib import Path
from typing import Any

import click

from clusterra.cli.automations.add import with_webhooks
from clusterra.cli.automations.naming import the_automation
from clusterra.cli.automations.wanting import read_json
from clusterra.cli.automations.words import bounds, does
from clusterra.cli.interest import in_words
from clusterra.cli.options import json_option, pass_session, server_options, workspace_option
from clusterra.cli.screen import say, tame
from clusterra.cli.session import Session
from clusterra.cli.which_one import called


@click.command("edit")
@server_options
@click.argument("automation")
@click.option("--name", help="What to call it.")
@click.option("--most", type=int, metavar="N", help="How often for one job.")
@click.option("--most-per-hour", type=int, metavar="N", help="How often at all.")
@click.option("--backoff", metavar="TIME", help="Wait before it acts: 5m; 0s for not at all.")
@click.option(
    "--file",
    type=click.Path(path_type=Path, allow_dash=True, dir_okay=False),
    metavar="FILE",
    help="What is to be different, as JSON: when, do, …",
)
@workspace_option
@json_option
@pass_session
def edit_automation(
    session: Session, /, *, automation: str, file: Path | None, as_json: bool, **said: Any
) -> None:
    """Change AUTOMATION. It answers what happens from then on.

    \b
      clusterra automations edit more-memory --most 3
      clusterra automations edit more-memory --file when.json
    """
    edit = read_json(file) if file is not None else {}
    edit |= {name: value for name, value in said.items() if value is not None}
    if not edit:
        raise click.UsageError("Say what to change: --most, --backoff, --name or --file.")
    found = the_automation(session, automation)
    changed = session.client.automations.edit(found.id, with_webhooks(session, edit))
    if as_json:
        session.say_answer()
        return
    say(f"{tame(changed.name)} from now on: when {in_words(changed.when)}, {does(changed)}.")
    say(f"  It acts {bounds(changed)}.")
    say(f"  Next:  clusterra automations dry-run {called(changed)}")


def _turn(session: Session, automation: str, state: str, *, as_json: bool) -> None:
    found = the_automation(session, automation)
    changed = session.client.automations.edit(found.id, {"state": state})
    if as_json:
        session.say_answer()
    elif found.state == changed.state:
        say(f"{tame(changed.name)} was {state} already.")
    elif state == "on":
        say(
            f"{tame(changed.name)} acts from now on: when {in_words(changed.when)}, {does(changed)}."
        )
    else:
        say(f"{tame(changed.name)} does nothing from now on.")
        say(f"  Let it act again:  clusterra automations on {called(changed)}")


@click.command("on")
@server_options
@click.argument("automation")
@workspace_option
@json_option
@pass_session
def turn_on(session: Session, *, automation: str, as_json: bool) -> None:
    """Let AUTOMATION act. What happened while it was off is not answered."""
    _turn(session, automation, "on", as_json=as_json)


@click.command("off")
@server_options
@click.argument("automation")
@workspace_option
@json_option
@pass_session
def turn_off(session: Session, *, automation: str, as_json: bool) -> None:
    """Let AUTOMATION do nothing until it is turned on again."""
    _turn(session, automation, "off", as_json=as_json)

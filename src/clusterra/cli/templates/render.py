"""`clusterra templates render`."""

from typing import Any

import click

from clusterra.cli.options import json_option, pass_session, server_options, workspace_option
from clusterra.cli.screen import say, tame
from clusterra.cli.session import Session
from clusterra.cli.templates.values import values_options, wanted


@click.command("render")
@server_options
@click.argument("template")
@values_options
@workspace_option
@json_option
@pass_session
def render_template(session: Session, /, *, template: str, as_json: bool, **said: Any) -> None:
    """Print the script that TEMPLATE comes to; nothing is submitted."""
    workspace = session.the_workspace().id if session.named_workspace() else ""
    found = session.client.templates.render(template, wanted(**said), workspace=workspace)
    if as_json:
        session.say_answer()
        return
    click.echo(found.script, nl=not found.script.endswith("\n"))
    for warning in found.warnings:
        say(f"  Note: {tame(warning)}", error=True)
    for each in found.artifacts:
        say(session.screen.faint(f"  leaves {each.key}: {tame(each.path)}"), error=True)

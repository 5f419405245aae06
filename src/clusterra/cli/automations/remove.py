"""`clusterra automations remove`."""

import click

from clusterra.cli.agree import agreed
from clusterra.cli.automations.naming import the_automation
from clusterra.cli.automations.words import does
from clusterra.cli.interest import in_words
from clusterra.cli.options import json_option, pass_session, server_options, workspace_option
from clusterra.cli.screen import say, tame
from clusterra.cli.session import Session
from clusterra.cli.which_one import called


@click.command("remove")
@server_options
@click.argument("automation")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@workspace_option
@json_option
@pass_session
def remove_automation(session: Session, *, automation: str, yes: bool, as_json: bool) -> None:
    """Take AUTOMATION away. What it has not done yet is not done."""
    found = the_automation(session, automation)
    words = f"Nobody would {does(found)} any more, when {in_words(found.when)}."
    ask = f"Remove {called(found)}?"
    if not yes and not agreed(session, words, ask=ask, nothing="Nothing was removed."):
        return
    gone = session.client.automations.delete(found.id)
    if as_json:
        session.say_answer()
        return
    say(f"{tame(gone.name or gone.id)} is removed.")
    say("  What it did stays in the ledger:  clusterra events list --type 'automation.*'")

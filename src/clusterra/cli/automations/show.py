"""`clusterra automations show`."""

import click

from clusterra.cli.automations.naming import the_automation
from clusterra.cli.automations.words import bounds, does, state_of
from clusterra.cli.interest import in_words
from clusterra.cli.moments import day
from clusterra.cli.options import json_option, pass_session, server_options, workspace_option
from clusterra.cli.screen import cut_end, say, tame
from clusterra.cli.session import Session
from clusterra.cli.which_one import called


@click.command("show")
@server_options
@click.argument("automation")
@workspace_option
@json_option
@pass_session
def show_automation(session: Session, *, automation: str, as_json: bool) -> None:
    """Show all about AUTOMATION: its name, or its id or the beginning of it."""
    view = session.client.automations.show(the_automation(session, automation).id)
    if as_json:
        session.say_answer()
        return
    state, screen = state_of(view), session.screen
    say(f"{tame(view.name)} · {view.id} · {screen.paint(state.text, state.colour)}")
    for word, text in (
        ("when", in_words(view.when, most=None)),
        ("does", does(view)),
        ("acts", bounds(view)),
        ("made", f"{day(view.created_at)} by {tame(view.owner) or 'somebody who is gone'}"),
    ):
        say(cut_end(f"  {word:<6}{text}", screen.width))
    for each in view.do:
        for line in (each.get("submit") or {}).get("script", "").splitlines()[:20]:
            say(screen.faint(f"        {tame(line)}"))
    say(f"  Next:  clusterra automations firings {called(view)}")

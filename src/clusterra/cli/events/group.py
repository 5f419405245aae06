"""`clusterra events`: what happened, and the proof of it."""

import click

from clusterra.cli.lazy import Lazy, LazyGroup
from clusterra.cli.options import server_options

COMMANDS: dict[str, Lazy] = {
    "list": Lazy("clusterra.cli.events.list:list_events", "What happened, newest last."),
    "follow": Lazy("clusterra.cli.events.follow:follow_events", "What happens, as it happens."),
    "listen": Lazy("clusterra.cli.events.listen:listen", "Pass what happens on to your program."),
    "trigger": Lazy("clusterra.cli.events.trigger:trigger", "Make an event up, and have it told."),
    "export": Lazy("clusterra.cli.events.export:export_events", "Save the ledger, with its proof."),
    "verify": Lazy("clusterra.cli.events.verify:verify_events", "Check that nothing was changed."),
}


@click.group(cls=LazyGroup, lazy=COMMANDS)
@server_options
def events() -> None:
    """What happened on a cluster: read it, follow it, keep it, verify it."""

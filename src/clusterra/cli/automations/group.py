"""`clusterra automations`: what is done when something happens."""

import click

from clusterra.cli.lazy import Lazy, LazyGroup
from clusterra.cli.options import server_options

_HERE = "clusterra.cli.automations"

COMMANDS: dict[str, Lazy] = {
    "list": Lazy(f"{_HERE}.list:list_automations", "What is done, and when."),
    "add": Lazy(f"{_HERE}.add:add_automation", "Retry, requeue, submit or tell, by itself."),
    "show": Lazy(f"{_HERE}.show:show_automation", "All about one automation."),
    "edit": Lazy(f"{_HERE}.edit:edit_automation", "Change how often, how soon, or all of it."),
    "on": Lazy(f"{_HERE}.edit:turn_on", "Let it act."),
    "off": Lazy(f"{_HERE}.edit:turn_off", "Let it do nothing for a while."),
    "remove": Lazy(f"{_HERE}.remove:remove_automation", "Take it away."),
    "dry-run": Lazy(f"{_HERE}.dry_run:dry_run", "What it would have done. Does nothing."),
    "firings": Lazy(f"{_HERE}.firings:firings", "What it did, and what it left, and why."),
}


@click.group(cls=LazyGroup, lazy=COMMANDS)
@server_options
def automations() -> None:
    """Have something done when something happens: more memory, another try, the next step."""

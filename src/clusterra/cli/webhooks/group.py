"""`clusterra webhooks`: who is told of what happens, and whether it was heard."""

import click

from clusterra.cli.lazy import Lazy, LazyGroup
from clusterra.cli.options import server_options

_HERE = "clusterra.cli.webhooks"

COMMANDS: dict[str, Lazy] = {
    "list": Lazy(f"{_HERE}.list:list_webhooks", "Who is told, of what, and how it goes."),
    "add": Lazy(f"{_HERE}.add:add_webhook", "Tell an address: Slack, Teams, a program, e-mail."),
    "show": Lazy(f"{_HERE}.show:show_webhook", "All about one webhook."),
    "edit": Lazy(f"{_HERE}.edit:edit_webhook", "Change whom it tells, and of what."),
    "pause": Lazy(f"{_HERE}.edit:pause_webhook", "Send nothing for a while; it is kept."),
    "resume": Lazy(f"{_HERE}.edit:resume_webhook", "Send again, what was kept first."),
    "remove": Lazy(f"{_HERE}.remove:remove_webhook", "Tell it nothing any more."),
    "rotate": Lazy(f"{_HERE}.rotate:rotate_secret", "A new secret; the old one works for a while."),
    "test": Lazy(f"{_HERE}.test:try_webhook", "Send it a made-up event, and see what it says."),
    "deliveries": Lazy(
        f"{_HERE}.deliveries:deliveries", "What was told, and what was not, and why."
    ),
    "replay": Lazy(f"{_HERE}.replay:replay", "Deliver again: one, all failed, all missing."),
    "verify": Lazy(f"{_HERE}.verify:verify", "Why a signature does not fit. Asks no server."),
}


@click.group(cls=LazyGroup, lazy=COMMANDS)
@server_options
def webhooks() -> None:
    """Tell Slack, Teams, GitHub, e-mail or your own programs of what happens."""

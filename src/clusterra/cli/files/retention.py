"""`clusterra files retention`: how long files stay."""

import click

from clusterra.cli.options import json_option, pass_session, server_options
from clusterra.cli.screen import say
from clusterra.cli.session import Session
from clusterra.core.words import count


@click.command("retention")
@server_options
@click.option(
    "--set",
    "said",
    multiple=True,
    metavar="LOCATION=DAYS",
    help="As an admin: outputs=90, or outputs=0 for ever. May be repeated.",
)
@json_option
@pass_session
def retention(session: Session, *, said: tuple[str, ...], as_json: bool) -> None:
    """Show how long files stay that nobody writes to, location by location."""
    cluster, asked = session.cluster_id(), session.client.files
    view = asked.keep(cluster, dict(map(_read, said))) if said else asked.retention(cluster)
    if as_json:
        session.say_answer()
        return
    for location, days in view.days.items():
        stays = f"{count(days, 'day')} after they were last written" if days else "until deleted"
        say(f"  {location:<8} {stays}")
    if not said:
        say("  Change it:  clusterra files retention --set outputs=90")


def _read(text: str) -> tuple[str, int]:
    location, _, days = text.partition("=")
    if not location or not days.isascii() or not days.isdigit():
        raise click.BadParameter(
            f"{text!r} is not LOCATION=DAYS, such as outputs=90.", param_hint="--set"
        )
    return location, int(days)

"""`clusterra events listen`: what happens, handed to a program on this machine as it happens.

No webhook is made and nothing has to be reachable from outside: the events come down the
stream of `events follow` and are signed here, as a webhook's are.
"""

from pathlib import Path

import click
import msgspec

from clusterra.cli.events.follow import Following
from clusterra.cli.events.forward import Forward, line, say_secret, signing_secrets
from clusterra.cli.events.words import about
from clusterra.cli.interest import entries
from clusterra.cli.options import pass_session, server_options
from clusterra.cli.screen import say, tame
from clusterra.cli.session import Session
from clusterra.cli.webhooks.secrets import secret_options
from clusterra.client.client import WhichEvents
from clusterra.client.stream import Told
from clusterra.wire.events import EventView


@click.command("listen")
@server_options
@click.option("--forward", metavar="URL", help="Where to: localhost:3000/hooks, or a port.")
@click.option("--types", multiple=True, metavar="TYPE", help="Only of such: 'job.*'. [all]")
@secret_options
@click.option("--after", type=click.IntRange(min=0), metavar="N", help="Begin after event N.")
@click.option("--print", "printed", is_flag=True, help="Print each event as well, as it is sent.")
@pass_session
def listen(
    session: Session,
    *,
    forward: str | None,
    types: tuple[str, ...],
    secret: str | None,
    secret_file: Path | None,
    after: int | None,
    printed: bool,
) -> None:
    """Pass what happens on to a program that you are writing, signed as a webhook signs it.

    \b
      clusterra events listen --forward localhost:3000/hooks --types 'job.*'
      clusterra events trigger job.failed --forward localhost:3000/hooks

    Each event is sent once, and what it was answered is shown. Ctrl-C ends it.
    """
    if forward is None:
        raise click.UsageError(
            "Say where to: --forward localhost:3000. To read them here: clusterra events follow"
        )
    signing, made = signing_secrets(session, secret, secret_file)
    there = Forward(session, forward, signing)
    wanted = WhichEvents(types=tuple(entries(types)))
    cluster = session.cluster_id()
    of = ", ".join(wanted.types) or "everything"
    say(f"Passing {tame(of)} that happens on {tame(cluster)} to {tame(there.url)}; Ctrl-C ends it.")
    if made:
        say_secret(session, signing[0])

    def tell(told: Told) -> None:
        event = msgspec.json.decode(told.data, type=EventView)
        posted = there.send(event.id, told.data)
        say(line(event.type, about(event), posted, session.screen))
        if printed:
            say(told.data.decode(errors="replace"))

    Following(session, cluster, wanted, after, tell).run()

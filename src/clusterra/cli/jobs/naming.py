"""Naming a job on the command line, with the shell completing ids from what the server knows."""

import click
from click.shell_completion import CompletionItem

from clusterra.cli.jobs.telling import handle
from clusterra.cli.session import Session
from clusterra.cli.words import state_words
from clusterra.core.errors import ClusterraError

_OFFERED = 50


def complete(context: click.Context, _: click.Parameter, begun: str) -> list[CompletionItem]:
    """Offer the newest jobs; whatever keeps us from knowing them, a shell shows no errors."""
    session = context.ensure_object(Session)
    try:
        page = session.client.jobs(session.cluster_id(), limit=_OFFERED)
    except ClusterraError:
        return []
    finally:
        session.close()
    offers = {handle(job): f"{job.name}, {state_words(job.state).short}" for job in page.jobs}
    return [CompletionItem(id, help=text) for id, text in offers.items() if id.startswith(begun)]

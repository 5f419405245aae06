"""`clusterra fleet`: the workers of a cluster, why there are so many, and what they cost."""

import click

from clusterra.cli.lazy import Lazy, LazyGroup
from clusterra.cli.options import server_options

COMMANDS: dict[str, Lazy] = {
    "show": Lazy("clusterra.cli.fleet.show:show_fleet", "The workers there are, and their cost."),
    "decisions": Lazy(
        "clusterra.cli.fleet.decisions:list_decisions", "What was decided, when and why."
    ),
    "policy": Lazy("clusterra.cli.fleet.policy:policy", "How it may grow and shrink."),
    "simulate": Lazy(
        "clusterra.cli.fleet.simulate:simulate_fleet", "What another policy would have cost."
    ),
}


@click.group(cls=LazyGroup, lazy=COMMANDS)
@server_options
def fleet() -> None:
    """The workers of a cluster: which there are, why, at what cost, and within which limits."""

"""An event as the terminal shows it: when, what kind, about what, and a sentence."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from clusterra.cli.words import reason_words
from clusterra.client.client import WhichEvents
from clusterra.core.events.tell import person, tell
from clusterra.wire.events import EventView

F = TypeVar("F", bound=Callable[..., Any])

_COLOURS = {
    "job.started": "blue",
    "job.completed": "green",
    "job.pending": "yellow",
    "job.held": "yellow",
    "job.suspended": "yellow",
    "job.requeued": "yellow",
    "job.preempted": "yellow",
    "job.time_limit_near": "yellow",
    "job.failed": "red",
    "job.timeout": "red",
    "job.out_of_memory": "red",
    "job.node_fail": "red",
    "job.lost": "red",
    "node.down": "red",
    "node.drained": "yellow",
    "node.spot_interrupted": "red",
    "node.misclassified": "red",
    "fleet.shortage": "red",
    "cluster.unreachable": "red",
    "cluster.recovered": "green",
    "collector.gap": "red",
    "automation.refused": "red",
    "automation.stopped": "yellow",
}


def colour_of(event: EventView) -> str | None:
    return _COLOURS.get(event.type)


def sentence(event: EventView) -> str:
    by = person(event.authtype, event.authid)
    return tell(event.type, event.data, by=by, explain=reason_words)


def about(event: EventView) -> str:
    """Return what it is about, as people write it: a task of an array by its label."""
    label = event.data.get("label")
    return f"job/{label}" if label and event.subject.startswith("job/") else event.subject


def which_options(function: F) -> F:
    """Let a command say which events it means."""
    for option in (
        click.option("--actor", default="", metavar="WHO", help="Only by: ana, system:slurm."),
        click.option("--subject", default="", metavar="WHAT", help="Only about: job/41, node/w1."),
        click.option(
            "--type",
            "types",
            multiple=True,
            metavar="TYPE",
            help="Only this type, or these: 'job.*'. May be given repeatedly.",
        ),
    ):
        function = option(function)
    return function


def which(
    *, types: tuple[str, ...], subject: str, actor: str, since: str = "", until: str = ""
) -> WhichEvents:
    return WhichEvents(types=types, subject=subject, actor=actor, since=since, until=until)

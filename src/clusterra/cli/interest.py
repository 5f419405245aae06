"""Which events are meant, of webhooks and of automations alike: the options, and the words."""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import click

from clusterra.cli.screen import tame
from clusterra.core.words import listed

F = TypeVar("F", bound=Callable[..., Any])

SEVERITIES = ("info", "notice", "warning", "error")


def several(option: str, name: str, what: str, help: str) -> Callable[[F], F]:
    return click.option(option, name, multiple=True, metavar=what, help=help)


NARROWING: tuple[Callable[[Any], Any], ...] = (
    several("--person", "people", "WHO", "Only about them: an e-mail or a Linux user."),
    several("--partition", "partitions", "NAME", "Only jobs of this partition."),
    several("--job-state", "states", "STATE", "Only jobs that ended so: FAILED,TIMEOUT."),
    several("--job-name", "names", "NAME", "Only jobs of this name: 'align-*'."),
    several("--cluster-id", "clusters", "ID", "Only of this cluster."),
    click.option("--severity", type=click.Choice(SEVERITIES), help="Nothing that matters less."),
)
"""Each narrows which events are meant; the type of event is said apart."""


def entries(said: tuple[str, ...]) -> list[str]:
    """Return what was said, each by itself: commas or repetition, as people like."""
    found = (part.strip() for each in said for part in each.split(","))
    return [each for each in found if each]


class Meant(Protocol):
    """The part of a webhook or an automation that says which events are meant."""

    @property
    def types(self) -> list[str]: ...

    @property
    def people(self) -> list[str]: ...

    @property
    def clusters(self) -> list[str]: ...

    @property
    def partitions(self) -> list[str]: ...

    @property
    def states(self) -> list[str]: ...

    @property
    def names(self) -> list[str]: ...

    @property
    def severity(self) -> str: ...


def in_words(meant: Meant, *, most: int | None = 4) -> str:
    """Return which events: `job.* · of ana · ended FAILED`; so many of each part."""
    parts = [listed(meant.types, most=most) if meant.types else "every event"]
    for said, word in (
        (meant.people, "of"),
        (meant.clusters, "on"),
        (meant.partitions, "in"),
        (meant.states, "ended"),
        (meant.names, "named"),
    ):
        if said:
            parts.append(f"{word} {listed(said, most=most)}")
    if meant.severity not in ("", "info"):
        parts.append(f"{meant.severity} or worse")
    return tame(" · ".join(parts))

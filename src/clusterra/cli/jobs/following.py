"""The options that say what is to follow a job."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from clusterra.cli.session import Session

F = TypeVar("F", bound=Callable[..., Any])


def following_options(function: F) -> F:
    for option in (
        click.option(
            "--notify", multiple=True, metavar="WEBHOOK", help="Tell this webhook how it ended."
        ),
        click.option(
            "--then",
            "scripts",
            multiple=True,
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            metavar="SCRIPT",
            help="Submit this when it has completed.",
        ),
        click.option(
            "--retry",
            type=click.IntRange(1, 100),
            metavar="N",
            help="Submit it again, up to N times: with more memory or time if it ran out of it.",
        ),
    ):
        function = option(function)
    return function


def following(
    session: Session,
    *,
    retry: int | None,
    scripts: tuple[Path, ...],
    notify: tuple[str, ...],
    read: Callable[[Path], str],
) -> list[dict[str, Any]] | None:
    """Return what is to follow, as a submission says it; None if nothing is."""
    said: list[dict[str, Any]] = []
    if retry:
        said.append({"when": "failed", "do": {"retry": {}}, "most": retry})
    said += [
        {
            "when": "completed",
            "do": {"submit": {"script": read(each), "options": {"name": each.stem}}},
        }
        for each in scripts
    ]
    said += [{"when": "ended", "do": {"notify": _webhook(session, each)}} for each in notify]
    return said or None


def _webhook(session: Session, wanted: str) -> str:
    if wanted.startswith("whk_"):
        return wanted
    # Imported by who asks: other submissions should not wait for it.
    from clusterra.cli.webhooks.naming import the_webhook  # noqa: PLC0415

    return the_webhook(session, wanted).id

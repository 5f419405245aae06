"""The options with which a webhook is made and changed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from clusterra.cli.interest import NARROWING, entries, several
from clusterra.cli.webhooks.secrets import read_text

F = TypeVar("F", bound=Callable[..., Any])

FORMATS = ("json", "slack", "teams", "github", "email")

ANY = "any"
"""Said when something is edited: it narrows no more."""


def interest_options(function: F) -> F:
    """Let a command say which events are meant."""
    types = several("--types", "types", "TYPE", "Of which events: 'job.*,user.quota.*'. [all]")
    for option in reversed((types, *NARROWING)):
        function = option(function)
    return function


def credential_option(function: F) -> F:
    return click.option(
        "--credential-file",
        type=click.Path(path_type=Path, allow_dash=True),
        metavar="FILE",
        help="File with GitHub's token; - is stdin.",
    )(function)


def edited(said: tuple[str, ...]) -> list[str] | None:
    """Return what a list is to be; None if nothing was said, and nothing in it for `any`."""
    found = entries(said)
    if not found:
        return None
    return [] if found == [ANY] else found


def credential(file: Path | None) -> str:
    if file is None:
        return ""
    return read_text(file, at="--credential-file").strip()

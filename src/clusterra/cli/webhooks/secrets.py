"""The secret that somebody verifies or signs with: typed, in a file, or in the environment."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from clusterra.cli.session import Session
from clusterra.core.errors import Invalid

F = TypeVar("F", bound=Callable[..., Any])

VARIABLE = "CLUSTERRA_WEBHOOK_SECRET"


def secret_options(function: F) -> F:
    for option in (
        click.option(
            "--secret-file",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="File with it, or with several: one a line.",
        ),
        click.option("--secret", metavar="SECRET", help=f"whsec_…, or whpk_…. [{VARIABLE}]"),
    ):
        function = option(function)
    return function


def given_secrets(session: Session, secret: str | None, file: Path | None) -> list[str]:
    """Return the secrets that were given, the nearest way first; none if none was."""
    if secret is not None and file is not None:
        raise click.UsageError("--secret and --secret-file: one of both.")
    if file is not None:
        text = read_text(file, at="--secret-file")
    else:
        text = secret if secret is not None else session.environ.get(VARIABLE, "")
    return text.split()


def read_text(file: Path, *, at: str) -> str:
    return read_bytes(file, at=at).decode(errors="replace")


def read_bytes(file: Path, *, at: str) -> bytes:
    try:
        with click.open_file(str(file), "rb") as opened:
            data: bytes = opened.read()
            return data
    except OSError as error:
        raise Invalid(
            f"{file} cannot be read: {error.strerror}.", hint=f"Name a file with {at}.", at=at
        ) from None

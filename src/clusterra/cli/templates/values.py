"""The options that give a recipe its values."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from clusterra.core.errors import Invalid

F = TypeVar("F", bound=Callable[..., Any])


def values_options(function: F) -> F:
    for option in (
        click.option(
            "--override",
            multiple=True,
            metavar="OPTION=VALUE",
            help="Replace one of its sbatch options: time=2:00:00. May be repeated.",
        ),
        click.option(
            "--values",
            "values_file",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            metavar="FILE",
            help='Values from a JSON file: {"params": {…}, "inputs": {…}}.',
        ),
        click.option(
            "--input",
            "inputs",
            multiple=True,
            metavar="KEY=VALUE",
            help="What it starts from. May be repeated.",
        ),
        click.option(
            "--param",
            "-P",
            "params",
            multiple=True,
            metavar="KEY=VALUE",
            help="A value; KEY=@FILE takes it from a file. May be repeated.",
        ),
    ):
        function = option(function)
    return function


def wanted(
    *,
    params: tuple[str, ...],
    inputs: tuple[str, ...],
    values_file: Path | None,
    override: tuple[str, ...],
) -> dict[str, Any]:
    """Return the part of a request that gives a recipe its values."""
    said = _from_file(values_file) if values_file else {}
    body: dict[str, Any] = {
        "params": {**(said.get("params") or {}), **dict(_pair(each, "--param") for each in params)},
        "inputs": {**(said.get("inputs") or {}), **dict(_pair(each, "--input") for each in inputs)},
    }
    if override:
        body["sbatch_override"] = dict(_pair(each, "--override") for each in override)
    return body


def _from_file(path: Path) -> dict[str, Any]:
    try:
        said = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise Invalid(f"{path} is not JSON: {error}.", hint="Mend it.", at="--values") from None
    if not isinstance(said, dict):
        raise Invalid(f"{path} holds no object.", hint='Write {"params": {…}}.', at="--values")
    return said if {"params", "inputs"} & said.keys() else {"params": said}


def _pair(text: str, option: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise click.BadParameter(f"{text!r} is not KEY=VALUE.", param_hint=option)
    if not value.startswith("@"):
        return key, value
    try:
        return key, Path(value[1:]).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid(
            f"The file {value[1:]} of {key} cannot be read: {error}.",
            hint="A value that begins with @ names a file.",
            at=option,
        ) from None

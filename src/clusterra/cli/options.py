"""The options that every command takes, before or after its name."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from clusterra.cli.session import Session

F = TypeVar("F", bound=Callable[..., Any])


def _note(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    """Keep what was said; what was said later, nearer to the command, counts."""
    if value is not None and value is not False and parameter.name:
        setattr(context.ensure_object(Session), parameter.name, value)


_PATH = click.Path(path_type=Path)

SERVER_OPTIONS: tuple[tuple[tuple[str, ...], dict[str, Any]], ...] = (
    (("--url",), {"metavar": "URL", "help": "Address of the server. [CLUSTERRA_URL]"}),
    (
        ("--token-file",),
        {"type": _PATH, "metavar": "FILE", "help": "File with the token. [CLUSTERRA_TOKEN]"},
    ),
    (
        ("--state",),
        {
            "type": _PATH,
            "metavar": "DIR",
            "help": "State directory of a server on this machine. [CLUSTERRA_STATE]",
        },
    ),
    (
        ("--cluster",),
        {"metavar": "ID|NAME", "help": "Which cluster, if several. [CLUSTERRA_CLUSTER]"},
    ),
    (
        ("--no-color",),
        {"is_flag": True, "help": "Print without colour. [NO_COLOR]"},
    ),
)


def server_options(function: F) -> F:
    """Let a command say which server it talks to, and by which token.

    Written above the command's own options, and shown below them.
    """
    # click keeps the parameters of a function here, last one first, until it is a command.
    own: list[click.Parameter] = getattr(function, "__click_params__", [])
    taken = {name for parameter in own for name in parameter.opts}
    shared = [
        click.Option(names, callback=_note, expose_value=False, **settings)
        for names, settings in reversed(SERVER_OPTIONS)
        if names[0] not in taken
    ]
    vars(function)["__click_params__"] = [*shared, *own]
    return function


def workspace_option(function: F) -> F:
    return click.option(
        "--workspace",
        metavar="ID|NAME",
        callback=_note,
        expose_value=False,
        help="Which workspace, if several. [CLUSTERRA_WORKSPACE]",
    )(function)


def json_option(function: F) -> F:
    return click.option(
        "--json", "as_json", is_flag=True, help="Print what the API answers, unchanged."
    )(function)


pass_session = click.make_pass_decorator(Session, ensure=True)

"""The reference page of the terminal, made from the commands themselves.

    python -m clusterra.cli.reference > docs/reference/cli.md

A test fails while the page and the commands disagree.
"""

import inspect
from collections.abc import Iterator

import click

from clusterra.cli.failures import EXIT_CODES
from clusterra.cli.main import cli
from clusterra.cli.options import SERVER_OPTIONS
from clusterra.cli.screen import say

_INTRO = """\
# The command `clusterra`

*Made by `python -m clusterra.cli.reference`; edit the commands, not this page.*

The first line of an answer answers; the last is the next step. `--json` prints what the API
answers, byte for byte, one document per line. Errors go to stderr, in the API's words. Tables
fit the terminal (100 columns in a pipe); colour appears on a terminal only, and never with
`NO_COLOR` or `--no-color`. Ctrl-C stops watching, never a job.

## Which server, which cluster

The address is the first of:

1. `--url`,
2. `CLUSTERRA_URL`,
3. the server that `clusterra up` or `clusterra serve` runs from a directory: `--state DIR`, else
   `CLUSTERRA_STATE`, else `$XDG_DATA_HOME/clusterra`, else `~/.local/share/clusterra`,
4. the server that `clusterra login` signed in to last.

What lets you in there is the first of:

1. `--token-file`,
2. `CLUSTERRA_TOKEN`, for `CLUSTERRA_URL`, for `--url` when no `CLUSTERRA_URL` is set, and for the
   server of a state directory when neither is,
3. the session that `clusterra login` began there, kept in `$XDG_CONFIG_HOME/clusterra/credentials.json`
   (else `~/.config`) and refreshed by itself,
4. the token in the state directory, for its own server: that of whoever runs it.

A server with several clusters wants `--cluster` or `CLUSTERRA_CLUSTER`, and one with several
workspaces `--workspace` or `CLUSTERRA_WORKSPACE`. These options may stand before or after the
command:
"""


def reference() -> str:
    """Return the whole page."""
    return "\n".join([*_lines(), ""])


def _lines() -> Iterator[str]:
    yield _INTRO
    shared = {option[0][0] for option in SERVER_OPTIONS}
    root = click.Context(cli, info_name="clusterra")
    yield from _options([each for each in cli.params if each.opts[0] in shared])
    yield "## Exit codes\n"
    yield "| code | meaning |\n|---|---|"
    yield from (f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items())
    yield ""
    yield "After `jobs submit --wait`, `jobs watch JOB` and `run`, the code is the job's own: its"
    yield "exit code, or 128 and the number of the signal that ended it.\n"
    yield "## Commands\n"
    yield from _commands(cli, root, shared)


def _commands(group: click.Group, context: click.Context, shared: set[str]) -> Iterator[str]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None, name
        inner = click.Context(command, info_name=name, parent=context)
        if isinstance(command, click.Group):
            if command.invoke_without_command:
                yield from _command(command, inner, shared)
            yield from _commands(command, inner, shared)
        else:
            yield from _command(command, inner, shared)


def _command(command: click.Command, context: click.Context, shared: set[str]) -> Iterator[str]:
    yield f"### `{context.command_path}`\n"
    usage = " ".join(command.collect_usage_pieces(context))
    yield f"```text\n{context.command_path} {usage}\n```\n"
    if command.help:
        yield inspect.cleandoc(command.help).replace("\b\n", "") + "\n"
    own = [
        each
        for each in command.params
        # A shared option with another meaning here (`jobs list --state`) is told again.
        if isinstance(each, click.Option) and (each.opts[0] not in shared or each.expose_value)
    ]
    if own:
        yield from _options(own)


def _options(options: list[click.Parameter] | list[click.Option]) -> Iterator[str]:
    yield "| option | |\n|---|---|"
    for option in options:
        assert isinstance(option, click.Option)
        names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
        value = "" if option.is_flag else f" `{option.metavar or _kind(option)}`"
        text = (option.help or "").replace("|", "\\|")
        yield f"| {names}{value.replace('|', chr(92) + '|')} | {text} |"
    yield ""


def _kind(option: click.Option) -> str:
    return option.type.name.upper()


if __name__ == "__main__":
    say(reference().rstrip("\n"))

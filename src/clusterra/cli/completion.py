"""`clusterra completion SHELL`: the script that teaches a shell our commands."""

import click
from click.shell_completion import get_completion_class

from clusterra.cli.screen import say


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, *, shell: str) -> None:
    """Print tab completion for SHELL.

    \b
    bash   clusterra completion bash > ~/.local/share/bash-completion/completions/clusterra
    zsh    clusterra completion zsh > "${fpath[1]}/_clusterra"
    fish   clusterra completion fish > ~/.config/fish/completions/clusterra.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None, "click knows the shells named above"
    root = context.find_root()
    say(kind(root.command, {}, "clusterra", "_CLUSTERRA_COMPLETE").source())

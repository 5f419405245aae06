"""`clusterra run -- COMMAND`: one command as a job, waited for.

What the command prints goes to stdout and everything said about it to stderr, so
that it can stand in a pipe where the command itself would.
"""

import shlex
from pathlib import PurePath
from typing import Any

import click

from clusterra.cli.jobs.asking import asking_options, submission
from clusterra.cli.jobs.submit import hand_over
from clusterra.cli.options import json_option, pass_session, server_options
from clusterra.cli.session import Session


@click.command(context_settings={"allow_interspersed_args": False})
@server_options
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@asking_options
@json_option
@pass_session
def run(
    session: Session, /, *, command: tuple[str, ...], key: str | None, as_json: bool, **asked: Any
) -> None:
    """Run COMMAND as a job, show its output and exit with its code.

    It runs on the cluster, in your home there. Ctrl-C stops waiting, not the job.
    """
    asked["name"] = asked["name"] or PurePath(command[0]).name
    job = submission(as_script(command), asked)
    hand_over(session, job, key=key, wait=True, as_json=as_json, aside=True)


def as_script(command: tuple[str, ...]) -> str:
    """Return a script that runs exactly this command.

    One word that holds a whole line (`clusterra run 'sort x | uniq'`) is left to the shell.
    """
    line = command[0] if len(command) == 1 and " " in command[0] else shlex.join(command)
    return f"#!/bin/sh\n{line}\n"

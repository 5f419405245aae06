"""Ask before something is done that cannot be undone."""

import sys

import click

from clusterra.cli.screen import say
from clusterra.cli.session import Session
from clusterra.core.errors import Refused


def agreed(session: Session, words: str, *, ask: str, nothing: str) -> bool:
    """Say what would happen and `ask` (`Remove it?`); say `nothing` was done without a yes.

    Raises Refused where nobody is there to answer.
    """
    if not (session.screen.live and is_typed()):
        to_do_it = f"To {ask[0].lower()}{ask[1:].removesuffix('?')}, add --yes."
        raise Refused(words, hint=f"{nothing} {to_do_it}")
    say(words)
    try:
        yes = click.confirm(ask)
    except click.Abort:
        yes = False
        say()
    if not yes:
        say(nothing)
    return yes


def is_typed() -> bool:
    """Say whether a person can answer."""
    return sys.stdin.isatty()

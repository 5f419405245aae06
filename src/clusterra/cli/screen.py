"""How to write to this terminal, or to this pipe.

Colour is never needed to understand. Nothing here wraps: what does not fit is
cut, names in the middle, sentences at their end.
"""

import os
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TextIO

import click

PIPE_WIDTH = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    live: bool
    """A person looks at it, so lines may be rewritten and questions asked."""
    colour: bool
    width: int = PIPE_WIDTH

    def paint(self, text: str, colour: str | None = None, *, bold: bool = False) -> str:
        if not self.colour or not text or not (colour or bold):
            return text
        return click.style(text, fg=colour, bold=bold or None)

    def faint(self, text: str) -> str:
        return click.style(text, dim=True) if self.colour and text else text


def screen_of(stream: TextIO, environ: Mapping[str, str], *, no_colour: bool) -> Screen:
    live = stream.isatty() and environ.get("TERM") != "dumb"
    width = _terminal_width(stream, environ) if live else PIPE_WIDTH
    return Screen(
        live=live, colour=live and not no_colour and not environ.get("NO_COLOR"), width=width
    )


def _terminal_width(stream: TextIO, environ: Mapping[str, str]) -> int:
    # shutil's version of this would import four compression libraries (3 ms).
    if (said := environ.get("COLUMNS", "")).isdecimal() and int(said) > 0:
        return int(said)
    try:
        return os.get_terminal_size(stream.fileno()).columns or PIPE_WIDTH
    except OSError:
        return PIPE_WIDTH


def say(text: str = "", *, error: bool = False) -> None:
    """Print a line as it is: whoever made it has decided about colour."""
    click.echo(text, err=error, color=True)


def tame(text: str) -> str:
    """Return `text` without anything that could move the cursor or colour the screen.

    Job names are chosen by other people.
    """
    return "".join(char if char.isprintable() else "�" for char in text)


def columns_of(text: str) -> int:
    """Return how many columns `text` takes on a screen."""
    if text.isascii():
        return len(text)
    return sum(_columns(char) for char in text)


def _columns(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def cut_end(text: str, width: int) -> str:
    if columns_of(text) <= width:
        return text
    return _first(text, width - 1).rstrip() + "…" if width > 0 else ""


def cut_middle(text: str, width: int) -> str:
    """Keep both ends, where names differ: `relion-cl…-refine3`."""
    if columns_of(text) <= width:
        return text
    if width < 3:
        return cut_end(text, width)
    tail = (width - 1) // 2
    return _first(text, width - 1 - tail) + "…" + _first(text[::-1], tail)[::-1]


def pad(text: str, width: int, *, right: bool = False) -> str:
    gap = " " * max(0, width - columns_of(text))
    return gap + text if right else text + gap


def _first(text: str, width: int) -> str:
    taken = 0
    for place, char in enumerate(text):
        taken += _columns(char)
        if taken > width:
            return text[:place]
    return text

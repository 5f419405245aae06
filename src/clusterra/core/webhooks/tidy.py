"""Words that others chose, made fit for one line of a message.

Anybody who may submit a job chooses its name, and a message about it goes where others read. So
whatever comes from outside loses what moves, hides or reverses text before a sentence is made of
it, and each form of message escapes what means something there (`formats/escape`).
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

NAME = 80
"""Characters of a name. A longer one says no more, and pushes the rest off the screen."""

SENTENCE = 400
"""Characters of anything else that was said by others: a reason, a hint."""

_HUGE = 8192
"""Nobody looks at every character of a name of a megabyte."""

_COLOURS = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?")
_JOINERS = "\u200c\u200d"
"""Invisible, and part of how Persian and some emoji are spelled."""


def tidy(text: str, most: int = SENTENCE) -> str:
    """Return it as one line of what can be seen, cut in its middle where it is too long."""
    return cut_middle(" ".join(_visible(text).split()), most)


def tidy_line(text: str, most: int = 200) -> str:
    """Return a line of output: as `tidy` does, but with its spaces, which mean something there."""
    return _cut_end(_visible(text.expandtabs(4)).rstrip(), most)


def tidied(value: Any, most: int = SENTENCE) -> Any:
    """Return what an event holds with every text in it tidy."""
    if isinstance(value, str):
        return tidy(value, most)
    if isinstance(value, Mapping):
        return {
            key: tidied(each, NAME if key in _NAMES else SENTENCE) for key, each in value.items()
        }
    if isinstance(value, Sequence):
        return tuple(tidied(each) for each in value[:50])
    return value


_NAMES = frozenset(
    {"name", "user", "account", "partition", "label", "id", "node", "group", "shape", "workspace"}
)


def cut_middle(text: str, most: int) -> str:
    """Keep both ends, where names differ."""
    if len(text) <= most:
        return text
    tail = (most - 1) // 2
    return f"{text[: most - 1 - tail].rstrip()}…{text[-tail:].lstrip() if tail else ''}"


def _cut_end(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _visible(text: str) -> str:
    text = _COLOURS.sub("", cut_middle(text, _HUGE))
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_seen, text))


def _seen(char: str) -> str:
    kind = unicodedata.category(char)
    if kind in ("Cc", "Zl", "Zp"):
        return " "
    if kind == "Cf":
        # Marks that reverse the order of what follows, or are not there at all to look at.
        return char if char in _JOINERS else ""
    return "\N{REPLACEMENT CHARACTER}" if kind in ("Cs", "Cn") else char

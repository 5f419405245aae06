"""What jobs have written, where it is not sent as it is."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputMatch:
    line: int
    """Its number; the first line is 1."""

    offset: int
    """The byte at which the line begins."""

    at: int
    """The byte at which the text that was looked for begins."""

    text: str
    """The line, or what of it stands around that text. What is no text is shown as �."""

    cut: bool
    """The line is longer than `text`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputMatches:
    matches: list[OutputMatch]
    more: bool
    """There may be more after the last one: so many were asked for."""

    size: int
    """How long the output was."""

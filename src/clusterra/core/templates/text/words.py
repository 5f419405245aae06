"""Cut a text into plain pieces and actions, and an action into words."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from clusterra.core.errors import Invalid
from clusterra.core.quote import shown


@dataclass(frozen=True, slots=True)
class Word:
    kind: str
    """`path`, `name`, `string`, `number`, or the sign itself: `|`, `(`, `)`."""

    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Action:
    words: tuple[Word, ...]
    line: int


_ACTION = re.compile(
    r"\{\{(?P<left>-(?=\s))?(?P<inside>(?:\s*/\*.*?\*/\s*)|(?:\"(?:\\.|[^\"\\\n])*\"|`[^`]*`|[^\"`])*?)"
    r"(?P<right>(?<=\s)-)?\}\}",
    re.DOTALL,
)
_TRIMMED = " \t\r\n"
_WORD = re.compile(
    r"""\s*(?:
        (?P<path>(?:\.[A-Za-z_][A-Za-z0-9_]*)+|\.(?![A-Za-z0-9_]))
      | (?P<number>[+-]?\d+(?:\.\d+)?(?![\w.]))
      | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<string>"(?:\\.|[^"\\\n])*"|`[^`]*`)
      | (?P<sign>[|()])
    )""",
    re.VERBOSE,
)


def pieces(text: str) -> Iterator[str | Action]:
    """Yield the plain text and the actions, in order; trimmed as their markers ask."""
    at, line, trim_next = 0, 1, False
    for found in _ACTION.finditer(text):
        plain = text[at : found.start()]
        _check_no_opening(plain, line)
        line += plain.count("\n")
        if trim_next:
            plain = plain.lstrip(_TRIMMED)
        if found["left"]:
            plain = plain.rstrip(_TRIMMED)
        if plain:
            yield plain
        inside = found["inside"]
        if not inside.strip().startswith("/*"):
            yield Action(tuple(_words(inside, line)), line)
        line += found[0].count("\n")
        at, trim_next = found.end(), bool(found["right"])
    rest = text[at:]
    _check_no_opening(rest, line)
    if trim_next:
        rest = rest.lstrip(_TRIMMED)
    if rest:
        yield rest


def _check_no_opening(plain: str, line: int) -> None:
    if (begun := plain.find("{{")) >= 0:
        line += plain.count("\n", 0, begun)
        raise wrong("{{ is opened and never closed.", "Close it with }}.", line)


def _words(inside: str, line: int) -> Iterator[Word]:
    at = 0
    end = len(inside.rstrip())
    while at < end:
        found = _WORD.match(inside, at)
        if found is None:
            strange = inside[at:end].strip()
            raise wrong(
                f"{shown(strange)} is not understood in {{{{ … }}}}.",
                "There are paths such as .params.name, texts in quotes, numbers, | and ( ).",
                line + inside.count("\n", 0, at),
            )
        kind = str(found.lastgroup)
        word = found[kind]
        yield Word(word if kind == "sign" else kind, word, line + inside.count("\n", 0, at))
        at = found.end()


def wrong(what: str, hint: str, line: int) -> Invalid:
    return Invalid(f"Line {line}: {what}", hint=hint, code="template-text", at=f"line {line}")

"""YAML, with the line that each part stands on.

Read as the public data plane reads it (YAML 1.2's core schema): `yes` is a text and no switch,
`1:30:00` a text and no number, a date a text. Aliases may not blow a small file up.
"""

import math
import re
from typing import Any

import yaml

from clusterra.core.errors import Invalid, TooLarge
from clusterra.core.quote import shown
from clusterra.core.schema import Where
from clusterra.core.templates.read import Document

LARGEST = 1 << 20
MOST_PARTS = 50_000
DEEPEST = 60

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_SWITCHES = {
    each: each.lower() == "true"
    for word in ("true", "false")
    for each in (word, word.title(), word.upper())
}
_WHOLE = re.compile(r"[-+]?\d+|0o[0-7]+|0x[0-9a-fA-F]+")
_BROKEN = re.compile(r"[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?")
_INFINITE = {".inf": math.inf, "+.inf": math.inf, "-.inf": -math.inf, ".nan": math.nan}


def read_yaml(text: str) -> Document:
    """Read one document. Raises Invalid, with the line."""
    if len(text) > LARGEST:
        raise TooLarge(
            f"It has {len(text):,} characters; the most is {LARGEST:,}.", hint="Make it shorter."
        )
    try:
        node = yaml.compose(text, Loader=_LOADER)
    except yaml.YAMLError as error:
        raise _broken(error) from None
    except RecursionError:
        raise Invalid("It is nested too deeply.", hint="Nest less.", at="line 1") from None
    if node is None:
        raise Invalid("The file is empty.", hint="Write a template into it.", at="line 1")
    made = _Making()
    return Document(value=made.value(node, ()), lines=made.lines)


class _Making:
    def __init__(self) -> None:
        self.lines: dict[Where, int] = {}
        self._parts = 0

    def value(self, node: yaml.Node, at: Where) -> Any:
        line = node.start_mark.line + 1
        self.lines.setdefault(at, line)
        self._parts += 1
        if self._parts > MOST_PARTS or len(at) > DEEPEST:
            raise Invalid(
                "It is nested too deeply, or has too many parts.",
                hint="Make it smaller.",
                at=f"line {line}",
            )
        match node:
            case yaml.ScalarNode():
                return _scalar(node)
            case yaml.SequenceNode():
                return [self.value(each, (*at, number)) for number, each in enumerate(node.value)]
            case yaml.MappingNode():
                return self._table(node, at)
        raise AssertionError(node)

    def _table(self, node: yaml.MappingNode, at: Where) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                raise Invalid("A key must be a word.", hint="Mend it.", at=f"line {line}")
            name = str(key.value)
            if name in found:
                raise Invalid(
                    f"{shown(name)} is there twice.", hint="Take one out.", at=f"line {line}"
                )
            self.lines[(*at, name)] = line
            found[name] = self.value(value, (*at, name))
        return found


def _scalar(node: yaml.ScalarNode) -> Any:
    text = str(node.value)
    if node.style in ('"', "'", "|", ">"):
        return text
    if text in _NULLS:
        return None
    if text in _SWITCHES:
        return _SWITCHES[text]
    if _WHOLE.fullmatch(text) and len(text) < 100:
        return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
    if text.lower() in _INFINITE:
        return _INFINITE[text.lower()]
    if _BROKEN.fullmatch(text):
        return float(text)
    return text


def _broken(error: yaml.YAMLError) -> Invalid:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    line = mark.line + 1 if mark else 1
    what = getattr(error, "problem", None) or str(error)
    return Invalid(
        f"It is not YAML: {what}.", hint="Mend that line, or the one before it.", at=f"line {line}"
    )

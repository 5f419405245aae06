"""Write a text out with values."""

from collections.abc import Callable, Mapping
from typing import Any

from clusterra.core.errors import Invalid
from clusterra.core.quote import shown
from clusterra.core.templates.text.functions import FUNCTIONS, LONGEST, holds, written
from clusterra.core.templates.text.tree import (
    Call,
    Expression,
    If,
    Literal,
    Path,
    Plain,
    Range,
    Shown,
    Text,
)

_REPETITIONS = 100_000
"""How often the bodies of ranges are written in all."""


class Writer:
    """Where the text goes. Knows how a quoted value is written at the place it has come to."""

    def __init__(self, quoted: Callable[[str, "Writer"], str], *, one_line: bool = False) -> None:
        self._quoted = quoted
        self._one_line = one_line
        """Whether a value must not bring lines of its own."""
        self._parts: list[str] = []
        self._length = 0
        self.unread: list[str] = []
        """What was written since somebody last looked where we are."""

    def write(self, text: str) -> None:
        self._length += len(text)
        if self._length > LONGEST:
            raise Invalid(
                f"The text would become longer than {LONGEST:,} characters.",
                hint="Keep data in files and let the script read them.",
                code="template-value",
            )
        self._parts.append(text)
        self.unread.append(text)

    def show(self, value: str) -> None:
        """Write a value."""
        if self._one_line and "\n" in value:
            raise Invalid(
                f"{shown(value)} has a line end, and what stands here is one line.",
                hint="Send a value of one line.",
                code="template-value",
            )
        self.write(value)

    def quoted(self, value: str) -> str:
        return self._quoted(value, self)

    @property
    def text(self) -> str:
        return "".join(self._parts)


class _Quoted(str):
    """What `quote` has made of a value; it is written as it is, wherever it goes next."""

    __slots__ = ()


def fill(text: Text, values: Mapping[str, Any], writer: Writer) -> str:
    """Write it out. Raises Invalid, naming what has no value or the wrong one."""
    _Filling(writer).write(text, values)
    return writer.text


class _Filling:
    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._left = _REPETITIONS

    def write(self, text: Text, dot: Any) -> None:
        for node in text:
            match node:
                case Plain(text=plain):
                    self._writer.write(plain)
                case Shown(what=what):
                    self._show(what, dot)
                case If(condition=condition, then=then, otherwise=otherwise):
                    chosen = then if holds(self._value(condition, dot)) else otherwise
                    self.write(chosen, dot)
                case Range():
                    self._repeat(node, dot)

    def _show(self, what: Expression, dot: Any) -> None:
        try:
            self._writer.show(written(self._value(what, dot)))
        except Invalid as error:
            if error.at:
                raise
            raise Invalid(
                f"Line {what.line}: {error.detail}",
                hint=error.hint,
                code=error.code,
                at=_named(what),
            ) from None

    def _repeat(self, node: Range, dot: Any) -> None:
        over = self._value(node.over, dot)
        match over:
            case Mapping():
                several = [over[key] for key in sorted(over)]
            case list() | tuple():
                several = list(over)
            case "" | None:
                several = []
            case _:
                raise Invalid(
                    f"Line {node.over.line}: range is given {shown(over)}, which is not a list.",
                    hint="Give it a list or an object.",
                    code="template-value",
                    at=_named(node.over),
                )
        self._left -= len(several)
        if self._left < 0:
            raise Invalid(
                f"The ranges of this text have more than {_REPETITIONS:,} turns.",
                hint="Give them less.",
                code="template-value",
            )
        for each in several:
            self.write(node.each, each)
        if not several:
            self.write(node.otherwise, dot)

    def _value(self, expression: Expression, dot: Any) -> Any:
        match expression:
            case Literal(value=value):
                return value
            case Path():
                return _found(expression, dot)
            case Call(name="quote", arguments=(argument,)):
                return _Quoted(self._writer.quoted(written(self._value(argument, dot))))
            case Call(name=name, arguments=arguments):
                given = [self._value(each, dot) for each in arguments]
                try:
                    return FUNCTIONS[name].do(*given)
                except Invalid as error:
                    raise Invalid(
                        f"Line {expression.line}: {error.detail}",
                        hint=error.hint,
                        code=error.code,
                        at=_named(expression),
                    ) from None


def _found(path: Path, dot: Any) -> Any:
    value = dot
    for depth, name in enumerate(path.names, start=1):
        if not isinstance(value, Mapping) or name not in value or value[name] is None:
            here = ".".join(path.names[:depth])
            raise Invalid(
                f"Line {path.line}: .{here} has no value.",
                hint=f"Give {here} a value, or a default in the template.",
                code="template-missing-value",
                at=here,
            )
        value = value[name]
    return value


def _named(expression: Expression) -> str:
    """Return the first value that an expression asks for, to say where the fault is."""
    match expression:
        case Path(names=names):
            return ".".join(names)
        case Call(arguments=arguments):
            return next(filter(None, map(_named, arguments)), "")
        case Literal():
            return ""

"""What a text is made of, once it has been read."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Path:
    """`.params.name`; no names is the dot itself."""

    names: tuple[str, ...]
    line: int

    def __str__(self) -> str:
        return "." + ".".join(self.names)


@dataclass(frozen=True, slots=True)
class Literal:
    value: str | int | float | bool
    line: int


@dataclass(frozen=True, slots=True)
class Call:
    """A function and what it is given; what is piped into it comes last."""

    name: str
    arguments: "tuple[Expression, ...]"
    line: int


Expression = Path | Literal | Call


@dataclass(frozen=True, slots=True)
class Plain:
    text: str


@dataclass(frozen=True, slots=True)
class Shown:
    """A value that is written out."""

    what: Expression


@dataclass(frozen=True, slots=True)
class If:
    condition: Expression
    then: "tuple[Node, ...]"
    otherwise: "tuple[Node, ...]"


@dataclass(frozen=True, slots=True)
class Range:
    """Written out for each of several values, with the dot as the value; else, if there are none."""

    over: Expression
    each: "tuple[Node, ...]"
    otherwise: "tuple[Node, ...]"


Node = Plain | Shown | If | Range
Text = tuple[Node, ...]

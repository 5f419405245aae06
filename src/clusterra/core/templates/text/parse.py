"""Read a text into its tree."""

from collections.abc import Iterator

from clusterra.core.quote import shown
from clusterra.core.templates.text.functions import FUNCTIONS
from clusterra.core.templates.text.tree import (
    Call,
    Expression,
    If,
    Literal,
    Node,
    Path,
    Plain,
    Range,
    Shown,
    Text,
)
from clusterra.core.templates.text.words import Action, Word, pieces, wrong

DEEPEST = 50
"""How far blocks and parentheses may be nested."""

_BLOCKS = ("if", "range", "else", "end")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "'": "'"}


def parse(text: str) -> Text:
    """Read it, or raise Invalid with the line where it is wrong."""
    reader = _Reader(pieces(text))
    nodes, ended_by = reader.block(0)
    if ended_by is not None:
        word = ended_by.words[0].text
        raise wrong(f"{word} has no if or range before it.", "Take it out.", ended_by.line)
    return nodes


def paths(text: Text) -> Iterator[Path]:
    """Yield every path that a text may ask for, but those of the dot inside a range."""
    for node in text:
        match node:
            case Shown(what=what):
                yield from _paths_of(what)
            case If(condition=condition, then=then, otherwise=otherwise):
                yield from _paths_of(condition)
                yield from paths(then)
                yield from paths(otherwise)
            case Range(over=over, otherwise=otherwise):
                yield from _paths_of(over)
                yield from paths(otherwise)
            case Plain():
                pass


def blanked(text: Text, blank: str = "1") -> str:
    """Write out all that a text may say, with `blank` for every value: to be looked over."""
    parts = []
    for node in text:
        match node:
            case Plain(text=plain):
                parts.append(plain)
            case Shown():
                parts.append(blank)
            case If(then=then, otherwise=otherwise) | Range(each=then, otherwise=otherwise):
                parts += [blanked(then, blank), blanked(otherwise, blank)]
    return "".join(parts)


def _paths_of(expression: Expression) -> Iterator[Path]:
    match expression:
        case Path():
            yield expression
        case Call(arguments=arguments):
            for each in arguments:
                yield from _paths_of(each)
        case Literal():
            pass


class _Reader:
    def __init__(self, found: Iterator[str | Action]) -> None:
        self._found = found

    def block(self, depth: int) -> tuple[Text, Action | None]:
        """Read up to the `else` or `end` that is not ours, and return it; None at the end."""
        nodes: list[Node] = []
        for piece in self._found:
            if isinstance(piece, str):
                nodes.append(Plain(piece))
                continue
            word = piece.words[0].text if piece.words else ""
            if word in ("else", "end"):
                return tuple(nodes), piece
            if word in ("if", "range"):
                nodes.append(self._branch(piece, depth + 1))
            else:
                nodes.append(Shown(_expression(piece.words, piece.line)))
        return tuple(nodes), None

    def _branch(self, action: Action, depth: int) -> Node:
        if depth > DEEPEST:
            raise wrong(f"Blocks are nested more than {DEEPEST} deep.", "Nest less.", action.line)
        kind, condition = action.words[0].text, _expression(action.words[1:], action.line)
        body, ended_by = self.block(depth)
        otherwise: Text = ()
        if ended_by is not None and ended_by.words[0].text == "else":
            otherwise, ended_by = self._else(ended_by, depth)
        if ended_by is None:
            raise wrong(f"{kind} has no end.", "Close it with {{end}}.", action.line)
        if len(ended_by.words) > 1:
            raise wrong("end stands alone.", "Write just {{end}}.", ended_by.line)
        return If(condition, body, otherwise) if kind == "if" else Range(condition, body, otherwise)

    def _else(self, action: Action, depth: int) -> tuple[Text, Action | None]:
        """Read what follows an `else`, to its end; `else if` is an if of its own with the same end."""
        rest = action.words[1:]
        if not rest:
            otherwise, ended_by = self.block(depth)
            if ended_by is not None and ended_by.words[0].text == "else":
                raise wrong("There is a second else.", "Take it out.", ended_by.line)
            return otherwise, ended_by
        if rest[0].text != "if":
            raise wrong("After else comes nothing, or if.", "Write {{else}}.", action.line)
        condition = _expression(rest[1:], action.line)
        body, ended_by = self.block(depth + 1)
        otherwise = ()
        if ended_by is not None and ended_by.words[0].text == "else":
            otherwise, ended_by = self._else(ended_by, depth + 1)
        return (If(condition, body, otherwise),), ended_by


def _expression(words: tuple[Word, ...], line: int) -> Expression:
    found, rest = _pipe(list(words), line, 0)
    if rest:
        raise wrong(f"{shown(rest[0].text)} closes nothing.", "Take it out.", rest[0].line)
    return found


def _pipe(words: list[Word], line: int, depth: int) -> tuple[Expression, list[Word]]:
    """Read a pipe up to a `)` that it did not open."""
    if depth > DEEPEST:
        raise wrong(f"Parentheses are nested more than {DEEPEST} deep.", "Nest less.", line)
    found: Expression | None = None
    while True:
        stage, words = _stage(words, line, depth)
        found = _called(stage, found, line)
        if not words or words[0].kind == ")":
            return found, words
        words = words[1:]  # the |


def _stage(words: list[Word], line: int, depth: int) -> tuple[list[Expression | Word], list[Word]]:
    """Read what stands between two pipes: a function's name stays a word."""
    stage: list[Expression | Word] = []
    while words and words[0].kind not in ("|", ")"):
        word, words = words[0], words[1:]
        if word.kind == "(":
            inner, words = _pipe(words, line, depth + 1)
            if not words:
                raise wrong("( is opened and never closed.", "Close it with ).", word.line)
            stage.append(inner)
            words = words[1:]
        elif word.kind == "name" and word.text not in ("true", "false"):
            stage.append(word)
        else:
            stage.append(_value(word))
    return stage, words


def _called(stage: list[Expression | Word], piped: Expression | None, line: int) -> Expression:
    if not stage:
        raise wrong("There is nothing between {{ and }}.", "Name a value: .params.name", line)
    first, rest = stage[0], stage[1:]
    for each in rest:
        if isinstance(each, Word):
            raise wrong(
                f"The function {each.text} stands where a value should.",
                f"Put it and what it is given into parentheses: ({each.text} …).",
                line,
            )
    given = tuple(each for each in rest if not isinstance(each, Word))
    if piped is not None:
        given = (*given, piped)
    if not isinstance(first, Word):
        if given:
            raise wrong("A value is followed by another.", "Put a function first.", line)
        return first
    if first.text in _BLOCKS:
        raise wrong(f"{first.text} stands in the wrong place.", "Give it {{ }} of its own.", line)
    function = FUNCTIONS.get(first.text)
    if function is None:
        raise wrong(
            f"There is no function {shown(first.text)}.",
            f"There are: {', '.join(FUNCTIONS)}; and if, else, range and end.",
            line,
        )
    if len(given) < function.least or len(given) > function.most:
        raise wrong(
            f"{first.text} is given {len(given)} values.", f"Write {function.example}.", line
        )
    return Call(first.text, given, line)


def _value(word: Word) -> Expression:
    match word.kind:
        case "path":
            return Path(tuple(name for name in word.text.split(".") if name), word.line)
        case "number":
            return Literal(float(word.text) if "." in word.text else int(word.text), word.line)
        case "string":
            return Literal(_unquoted(word), word.line)
        case _:
            return Literal(word.text == "true", word.line)


def _unquoted(word: Word) -> str:
    if word.text.startswith("`"):
        return word.text[1:-1]
    written = iter(word.text[1:-1])
    found = []
    for char in written:
        if char != "\\":
            found.append(char)
            continue
        escape = next(written, "")
        if escape not in _ESCAPES:
            raise wrong(
                f"{shown(word.text)} has \\{escape}, which means nothing.",
                'There are \\n, \\t, \\r, \\" and \\\\; or put the text into `backquotes`.',
                word.line,
            )
        found.append(_ESCAPES[escape])
    return "".join(found)

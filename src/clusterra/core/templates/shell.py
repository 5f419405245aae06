"""Where in a shell script one is, so that a value can be written there and stay a value.

Rendered text is shell, and the same `quote` is used for an assignment, inside a pair of quotes,
and for JSON in a here-document. Each place has its own way to keep `$`, a backquote, a quote, a
backslash or a line end from meaning something; this reads the script up to the place and tells
which way it is.
"""

import json
import re
from dataclasses import dataclass, field
from enum import Enum


class Place(Enum):
    PLAIN = "among the words of a command"
    SINGLE = "inside '…'"
    DOUBLE = 'inside "…"'
    COMMENT = "behind a #"
    HERE = "in a here-document, where $ and backquotes are still read"
    VERBATIM = "in a here-document whose delimiter is quoted"
    NO_SHELL = "in a text that no shell reads"


_HEREDOC = re.compile(
    r"<<(?P<dash>-?)[ \t]*(?!-)(?P<word>(?:\\.|'[^'\n]*'|\"[^\"\n]*\"|[A-Za-z0-9_.!%+,/:=@^~-])+)"
)
_NEXT = {
    Place.PLAIN: re.compile(r"\$?\(\(|\$\(|\$'|<<<?|[\\'\"#\n()`]"),
    Place.DOUBLE: re.compile(r"\$\(\(?|[\\\"`]"),
}


@dataclass(slots=True)
class Reading:
    """How far a script has been read. Feed it what comes; ask it where that has led to."""

    place: Place = Place.PLAIN
    _within: list[tuple[Place, str]] = field(default_factory=list)
    """The places that `$(…)` and backquotes stand in, and what ends them."""

    _awaited: list[tuple[str, bool, bool]] = field(default_factory=list)
    """Here-documents that begin on the next line: delimiter, whether verbatim, whether tabs go."""

    _ends_with: tuple[str, bool] = ("", False)
    _word_begun: bool = False
    _line: str = ""
    """Of a here-document: the line so far."""

    _kept: str = ""
    """What came last, if its meaning hangs on what comes next."""

    def feed(self, text: str) -> None:
        text, self._kept = self._kept + text, ""
        at = 0
        while at < len(text):
            match self.place:
                case Place.PLAIN | Place.DOUBLE:
                    at = self._in_words(text, at)
                case Place.SINGLE:
                    at = self._past(text, at, "'")
                case Place.COMMENT:
                    at = self._past(text, at, "\n", keep=True)
                case Place.HERE | Place.VERBATIM:
                    at = self._in_document(text, at)
                case Place.NO_SHELL:
                    return

    def _past(self, text: str, at: int, end: str, *, keep: bool = False) -> int:
        found = text.find(end, at)
        if found < 0:
            return len(text)
        self.place, self._word_begun = Place.PLAIN, True
        return found if keep else found + 1

    def _in_words(self, text: str, at: int) -> int:
        found = _NEXT[self.place].search(text, at)
        if found is None:
            self._word_begun = not text[-1:].isspace()
            return len(text)
        if found.start() > at:
            self._word_begun = not text[found.start() - 1].isspace()
        sign, end = found[0], found.end()
        if sign == "\\":
            if end == len(text):
                self._kept = sign
                return end
            self._word_begun = True
            return end + 1
        return self._signed(sign, text, found.start(), end)

    def _signed(self, sign: str, text: str, start: int, end: int) -> int:
        match sign:
            case '"' | "'" | "`":
                self._quote(sign)
            case "$'":
                return self._in_ansi(text, end)
            case ")":
                self._close()
            case "#":
                if not self._word_begun:
                    self.place = Place.COMMENT
            case "\n":
                self._word_begun = False
                self._begin_document()
            case "<<<":
                self._word_begun = False
            case "<<":
                if not (self._within and self._within[-1][1] == "))"):
                    return self._await(text, start, end)
            case _:  # ( and the like
                self._enter("))" if sign.endswith("((") else ")")
        return end

    def _quote(self, sign: str) -> None:
        match sign:
            case "'":
                self.place = Place.SINGLE
            case '"':
                self.place = Place.PLAIN if self.place is Place.DOUBLE else Place.DOUBLE
                self._word_begun = True
            case _:
                if self._within and self._within[-1][1] == "`":
                    self._leave()
                else:
                    self._enter("`")

    def _in_ansi(self, text: str, at: int) -> int:
        """Pass over a `$'…'`, in which a backslash escapes a quote."""
        self.place, self._word_begun = Place.PLAIN, True
        found = re.compile(r"(?:\\.|[^'\\])*'", re.DOTALL).match(text, at)
        return found.end() if found else len(text)

    def _enter(self, end: str) -> None:
        self._within.append((self.place, end))
        self.place, self._word_begun = Place.PLAIN, False

    def _close(self) -> None:
        place, end = self._within[-1] if self._within else (self.place, "")
        if end == "))":  # one of the two
            self._within[-1] = (place, ")")
        elif end == ")":
            self._leave()

    def _leave(self) -> None:
        self.place, _ = self._within.pop()
        self._word_begun = True

    def _await(self, text: str, start: int, end: int) -> int:
        if len(text) - start < 200 and "\n" not in text[start:]:
            # The delimiter may not have come yet; nothing else is written in the middle of one.
            found = _HEREDOC.match(text, start)
            if found is None or found.end() == len(text):
                self._kept = text[start:]
                return len(text)
        found = _HEREDOC.match(text, start)
        if found is None:
            return end
        word = found["word"]
        plain = re.sub(r"\\(.)|['\"]", r"\1", word)
        self._awaited.append((plain, plain != word, bool(found["dash"])))
        self._word_begun = True
        return found.end()

    def _begin_document(self) -> None:
        if self._awaited:
            word, verbatim, dash = self._awaited.pop(0)
            self.place = Place.VERBATIM if verbatim else Place.HERE
            self._ends_with, self._line = (word, dash), ""

    def _in_document(self, text: str, at: int) -> int:
        end = text.find("\n", at)
        if end < 0:
            self._line += text[at:]
            return len(text)
        line = self._line + text[at:end]
        self._line = ""
        word, dash = self._ends_with
        if (line.lstrip("\t") if dash else line) == word:
            self.place, self._word_begun = Place.PLAIN, False
            self._begin_document()
        return end + 1


def quoted(value: str, place: Place) -> str:
    """Write a value so that it arrives as it is, read at that place."""
    match place:
        case Place.PLAIN:
            return f'"{_in_double(value)}"'
        case Place.DOUBLE:
            return _in_double(value)
        case Place.SINGLE:
            return _text(value).replace("'", "'\\''")
        case Place.HERE:
            return re.sub(r"([\\$`])", r"\\\1", _text(value))
        case Place.COMMENT | Place.VERBATIM | Place.NO_SHELL:
            return _text(value)


def _in_double(value: str) -> str:
    return re.sub(r'([\\"$`])', r"\\\1", value)


def _text(value: str) -> str:
    """Write it as JSON does, which is also how most languages write a text."""
    return json.dumps(value, ensure_ascii=False)


def is_shell(script: str) -> bool:
    """Say whether a script is read by a shell: by its first line, or because it has none."""
    first = script.lstrip().split("\n", 1)[0]
    if not first.startswith("#!"):
        return True
    words = first[2:].split()
    names = [word.rsplit("/", 1)[-1] for word in words]
    if names[:1] == ["env"]:
        names = [each for each in names[1:] if not each.startswith("-") and "=" not in each]
    return bool(names) and names[0] in {"sh", "bash", "dash", "ksh", "zsh", "ash"}

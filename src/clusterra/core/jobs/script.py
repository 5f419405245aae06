"""A batch script: whether it can run at all, and what its `#SBATCH` lines ask for.

slurmrestd looks at neither. It takes a script without `#!`, or one saved on
Windows, and the job fails on the node; and it passes over every `#SBATCH` line.
So the script is checked here as sbatch checks it, and read as sbatch reads it,
measured against the sbatch of Slurm 24.11 and 26.05:

- lines that begin with exactly `#SBATCH`, until the first line that is neither
  blank nor a comment;
- words as in a shell, except that a backslash escapes inside single quotes too,
  that an empty `""` is no word, and that an unquoted `#` ends the line even in
  the middle of a word (`-J a#b` is `-J a`);
- options as in getopt: `-n4`, `-n 4`, `-HJname`, `--nodes 2`, unique beginnings
  such as `--part=gpu`.

In two things we differ on purpose. A value must stand on the line of its option:
sbatch takes the next line's first word, so a forgotten value swallows an option.
And `#PBS` and `#BSUB` lines are remarked upon, not obeyed.

What an option means is in `properties.py`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from clusterra.core.errors import Invalid, Refused, TooLarge
from clusterra.core.jobs.options import IGNORED, LETTERS, OPTIONS, REFUSED, SAME_AS, Option, Takes
from clusterra.core.quote import shown

MAX_SCRIPT_BYTES = 4 * 1024 * 1024
"""Slurm's own default (`max_script_size`)."""

MAX_DIRECTIVE_LINES = 1_000
MAX_DIRECTIVE_LENGTH = 64 * 1024
"""Far beyond any script's needs; reading more would keep everybody else waiting."""

_SPACE = " \t\v\f\r"
_COMMAND = re.compile(rf"^[{_SPACE}]*[^{_SPACE}\n#]", re.MULTILINE)
_MARKED = re.compile(r"^#(?:SBATCH|PBS|BSUB)[^\n]*", re.MULTILINE)
_BINARY = re.compile(r"[\x00-\x07\x0e-\x1a\x1c-\x1f\x7f\ud800-\udfff]")
"""What no text holds: control characters but backspace, white space and escape, and bytes that
were never UTF-8."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Directive:
    line: int
    option: str
    """The long name, also where the script wrote a letter or a beginning."""

    value: str | None


def check_script(script: str) -> None:
    """Raise Invalid, or TooLarge, if this cannot run as a batch script."""
    if not script.strip():
        raise Invalid(
            "The script is empty.",
            hint="Send a script whose first line is #!/bin/bash and whose next lines do the work.",
            code="script-empty",
            at="script",
        )
    _check_text(script)
    _check_first_line(script.split("\n", 1)[0])
    if "\r\n" in script:
        line = script.count("\n", 0, script.index("\r\n")) + 1
        raise Invalid(
            f"Line {line} of the script ends as on Windows (CR LF); on the node it would not run.",
            hint="Save it with Unix line ends (LF), or run dos2unix on it.",
            code="script-crlf",
            at=f"line {line}",
        )


def _check_text(script: str) -> None:
    size = len(script.encode("utf-8", "surrogatepass"))
    if size > MAX_SCRIPT_BYTES:
        raise TooLarge(
            f"The script has {size / 1024**2:.2f} MB; Slurm takes at most "
            f"{MAX_SCRIPT_BYTES / 1024**2:.0f} MB.",
            hint="Keep data in files and let the script read them.",
            code="script-too-large",
            at="script",
        )
    strange = _BINARY.search(script)
    if strange:
        line = script.count("\n", 0, strange.start()) + 1
        raise Invalid(
            f"Line {line} of the script holds {shown(strange[0])}: this is not a text file.",
            hint="Submit a script that starts the program, not the program itself.",
            code="script-binary",
            at=f"line {line}",
        )


def _check_first_line(first: str) -> None:
    if first.startswith("\ufeff"):
        raise Invalid(
            "The script begins with an invisible byte order mark; Linux would not see its #!.",
            hint="Save it as UTF-8 without BOM.",
            code="script-bom",
            at="line 1",
        )
    if not first.startswith("#!"):
        raise Invalid(
            f"The first line of the script names no interpreter: {shown(first.rstrip())}.",
            hint="Put #!/bin/bash on the first line, with nothing before it.",
            code="script-no-shebang",
            at="line 1",
        )
    interpreter = next(iter(first[2:].split()), "")
    if not interpreter.startswith("/"):
        raise Invalid(
            f"The interpreter on the first line must be an absolute path, not {shown(interpreter)}."
            if interpreter
            else "The first line names no interpreter after #!.",
            hint="Write it in full, such as #!/bin/bash or #!/usr/bin/env python3.",
            code="script-interpreter",
            at="line 1",
        )


def directives(script: str) -> tuple[Directive, ...]:
    """Read what the script asks for, in its order; later ones override earlier ones."""
    return tuple(
        directive
        for line, text in _marked_lines(script)
        if text.startswith("#SBATCH")
        for directive in _options_of(_words(text[len("#SBATCH") :], line), line)
    )


def remarks(script: str) -> tuple[str, ...]:
    """Say which lines of the script had no effect, so that nobody waits for it."""
    said = [
        f"Line {each.line}: --{each.option} has no effect here: {IGNORED[each.option]}."
        for each in directives(script)
        if each.option in IGNORED
    ]
    said += [
        f"Line {line}: {text.split()[0]} lines are not read; write #SBATCH."
        for line, text in _marked_lines(script)
        if not text.startswith("#SBATCH")
    ]
    return tuple(said)


def _marked_lines(script: str) -> Iterator[tuple[int, str]]:
    command = _COMMAND.search(script)
    end = command.start() if command else len(script)
    line, counted = 1, 0
    for number, found in enumerate(_MARKED.finditer(script, 0, end)):
        line += script.count("\n", counted, found.start())
        counted = found.start()
        if number >= MAX_DIRECTIVE_LINES or len(found[0]) > MAX_DIRECTIVE_LENGTH:
            raise _bad(
                f"there are more than {MAX_DIRECTIVE_LINES:,} lines of options, or one longer "
                f"than {MAX_DIRECTIVE_LENGTH:,} characters.",
                "Write fewer.",
                line,
            )
        yield line, found[0]


def _words(text: str, line: int) -> list[str]:
    words: list[list[str]] = [[]]
    quote, escaped = "", False
    for char in text:
        if escaped:
            words[-1].append(char)
            escaped = False
        elif char == "\\":
            escaped = True
        elif quote and char == quote:
            quote = ""
        elif quote:
            words[-1].append(char)
        elif char in "\"'":
            quote = char
        elif char == "#":
            break
        elif char in _SPACE:
            words.append([])
        else:
            words[-1].append(char)
    if quote:
        raise _bad(f"a quote {quote} is opened and never closed.", "Close it.", line)
    return ["".join(each) for each in words if each]


def _options_of(words: list[str], line: int) -> Iterator[Directive]:
    if words and (words[0].lower() in {"hetjob", "packjob"} or ":" in words):
        raise Refused(
            f"Line {line}: this is a job of several different parts, which cannot be submitted here.",
            hint="Submit the parts as jobs of their own, joined by --dependency.",
            code="het-job",
            at=f"line {line}",
        )
    rest = iter(words)
    for word in rest:
        if word.startswith("--") and len(word) > 2:
            yield _long(word[2:], rest, line)
        elif word.startswith("-") and word not in {"-", "--"}:
            yield from _short(word[1:], rest, line)
        else:
            raise _bad(
                f"{shown(word)} belongs to no option.",
                "Quote a value that has spaces, and write # before a remark.",
                line,
            )


def _long(text: str, rest: Iterator[str], line: int) -> Directive:
    name, equals, value = text.partition("=")
    option = _named(name, line)
    if equals and option.takes is Takes.NOTHING:
        raise _bad(f"--{option.name} takes no value.", f"Write just --{option.name}.", line)
    if equals:
        return _directive(option, value, line)
    return _directive(option, _following(option, rest, line), line)


def _named(name: str, line: int) -> Option:
    if name in OPTIONS:
        return OPTIONS[name]
    begun = [each for each in OPTIONS if each.startswith(name)]
    if len(begun) == 1:
        return OPTIONS[begun[0]]
    if begun:
        raise _bad(
            f"--{name} could be {', '.join('--' + each for each in begun)}.",
            "Write the one you mean in full.",
            line,
        )
    near = get_close_matches(name, OPTIONS, n=1)
    raise _bad(
        f"sbatch has no option {shown('--' + name)}.",
        f"Did you mean --{near[0]}?" if near else "See `man sbatch` for the options there are.",
        line,
    )


def _short(letters: str, rest: Iterator[str], line: int) -> Iterator[Directive]:
    for position, letter in enumerate(letters, 1):
        if letter not in LETTERS:
            raise _bad(
                f"sbatch has no option -{letter}.",
                "An option of several letters begins with two dashes, such as --nodes=2.",
                line,
            )
        option = LETTERS[letter]
        if option.takes is Takes.NOTHING:
            yield _directive(option, None, line)
            continue
        glued = letters[position:]
        yield _directive(option, glued or _following(option, rest, line), line)
        return


def _following(option: Option, rest: Iterator[str], line: int) -> str | None:
    if option.takes is not Takes.VALUE:
        return None
    value = next(rest, None)
    if value is None:
        raise _bad(
            f"--{option.name} needs a value.",
            f"Write it on the same line, such as --{option.name}=….",
            line,
        )
    return value


def _directive(option: Option, value: str | None, line: int) -> Directive:
    name = SAME_AS.get(option.name, option.name)
    if name in REFUSED:
        raise Invalid(
            f"Line {line}: --{name} cannot be used here: {REFUSED[name]}.",
            hint="Remove it from the script.",
            code="directive-refused",
            at=f"line {line}",
        )
    return Directive(line=line, option=name, value=value)


def _bad(what: str, hint: str, line: int) -> Invalid:
    return Invalid(f"Line {line}: {what}", hint=hint, code="directive-invalid", at=f"line {line}")

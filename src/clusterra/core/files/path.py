"""What a file may be called.

A name is shown in lists, pasted into scripts and made a path of a real file system. So one
that leads elsewhere, one that cannot be seen as it is, and one that reads like another are
refused here, before any store is asked; every store may rely on it.
"""

import re
import unicodedata

from clusterra.core.errors import Invalid
from clusterra.core.quote import shown

LONGEST = 1024 - 280
"""Bytes of a path: the most S3 takes of a key, less whose it is and where, which stand in front."""

LONGEST_PART = 255
"""Bytes of each of its parts: the most a file system takes."""

RESERVED = ".clusterra"
"""Parts that begin so are kept for what Clusterra itself may have to put beside people's files."""

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Categories of characters that show nothing, or change how others are shown."""

_MISTAKEN = ("LATIN", "GREEK", "CYRILLIC", "CHEROKEE", "ARMENIAN", "COPTIC")
"""Scripts with letters that look alike."""

_WORD = re.compile(r"[^\W\d_]+")


def read_path(text: str, *, at: str = "path", folder: bool = False, existing: bool = False) -> str:
    """Return the one spelling of a path; raise Invalid if it is none, or could be mistaken.

    A folder may end in `/` and may be empty: the location itself. What is `existing` may be called
    what we would not have called it: jobs name files too, and those have to be reached.
    """
    path = text[:-1] if folder and text.endswith("/") else text
    if folder and not path:
        return ""
    _check_whole(path, text, at)
    for part in path.split("/"):
        _check_step(part, text, at)
    if not existing:
        _check_clear(path, text, at)
    return path


def _check_whole(path: str, text: str, at: str) -> None:
    try:
        length = len(path.encode())
    except UnicodeEncodeError:
        raise _refused(f"{shown(text)} is not text.", at) from None
    if not path:
        raise _refused("A file needs a name.", at)
    if odd := next((letter for letter in path if _is_unseen(letter)), ""):
        # Before anything that repeats the path.
        raise _refused(
            f"The path has the character U+{ord(odd):04X}, which cannot be seen as it is.", at
        )
    if length > LONGEST:
        raise _refused(f"The path is {length:,} bytes long, and {LONGEST} is the most.", at)
    if path.startswith("/"):
        raise _refused(f"{shown(text)} begins with a slash.", at)


def _check_step(part: str, text: str, at: str) -> None:
    if not part:
        raise _refused(f"{shown(text)} has an empty part: two slashes, or one at its end.", at)
    if part in (".", ".."):
        raise _refused(f"{shown(text)} has the part {part!r}, which leads elsewhere.", at)
    if len(part.encode()) > LONGEST_PART:
        raise _refused(
            f"A part of the path is {len(part.encode())} bytes long, and {LONGEST_PART} is the most.",
            at,
        )
    if part.startswith(RESERVED):
        raise _refused(f"Names that begin with {RESERVED} are Clusterra's own.", at)


def _check_clear(path: str, text: str, at: str) -> None:
    """Raise Invalid for a name that could be mistaken for another."""
    if not unicodedata.is_normalized("NFC", path):
        raise _refused(
            f"{shown(text)} is spelled with letters and accents apart (it is not in Unicode's NFC).",
            at,
            hint="Send it composed: two spellings of one name would be two files.",
        )
    if any(part != part.strip() for part in path.split("/")):
        raise _refused(f"{shown(text)} has a part that begins or ends with a space.", at)
    for word in _WORD.findall(path):
        if len(scripts := _scripts(word)) > 1:
            raise _refused(
                f"{shown(word)} mixes {' and '.join(scripts)} letters, which can be mistaken for"
                " each other.",
                at,
                hint="Write each word of a name in one script.",
            )


def _is_unseen(letter: str) -> bool:
    category = unicodedata.category(letter)
    return (
        category in _UNSEEN
        or (category == "Zs" and letter != " ")
        or letter == "\\"
        # Variation selectors, and fillers that are letters by name only.
        or "VARIATION SELECTOR" in unicodedata.name(letter, "")
        or letter in "\u115f\u1160\u3164\uffa0\u034f\u2800"
    )


def _scripts(word: str) -> list[str]:
    found: list[str] = []
    for letter in word:
        name = unicodedata.name(letter, "")
        script = next((each for each in _MISTAKEN if name.startswith(each)), "").title()
        if script and script not in found:
            found.append(script)
    return found


def _refused(detail: str, at: str, *, hint: str = "") -> Invalid:
    return Invalid(
        detail,
        hint=hint or "Name it as runs/07/reads.fq: parts with slashes between, below the location.",
        code="bad-path",
        at=at,
    )

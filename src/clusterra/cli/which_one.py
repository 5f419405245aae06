"""Which of several things is meant by what somebody typed, and what to type for one."""

import re
from collections.abc import Sequence
from typing import Protocol, TypeVar

from clusterra.core.errors import Invalid, NotFound
from clusterra.core.words import listed

_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@+-]*")
"""Names that a shell takes as they are."""


class Named(Protocol):
    @property
    def id(self) -> str: ...

    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=Named)


def the_one(known: Sequence[N], wanted: str, *, noun: str, make: str) -> N:
    """Return the one of that id, else of that name, else whose id begins so.

    `noun` is what they are, `make` the command that makes the first.
    """
    for found in (
        [each for each in known if each.id == wanted],
        [each for each in known if each.name == wanted],
        [each for each in known if wanted and each.id.startswith(wanted)],
    ):
        if len(found) == 1:
            return found[0]
        if found:
            raise Invalid(
                f"{len(found)} {noun}s are meant by {wanted!r}.",
                hint=f"Use more of an id: {listed((each.id for each in found), most=5)}.",
            )
    if not known:
        raise NotFound(
            f"There is no {noun} {wanted!r}, nor any other.", hint=f"Make one with: {make}"
        )
    raise NotFound(
        f"There is no {noun} {wanted!r}.",
        hint=f"There are: {listed((called(each) for each in known), most=8)}.",
    )


def called(thing: Named) -> str:
    """Return what to call it in a sentence, and in a command that can be pasted."""
    return thing.name if _PLAIN.fullmatch(thing.name) else thing.id

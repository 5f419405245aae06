"""E-mail addresses as names of people: one spelling for each, and none that looks like another."""

import re

from clusterra.core.errors import Invalid
from clusterra.core.quote import shown

LONGEST = 254

_ADDRESS = re.compile(
    r"[a-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
    r"@[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*"
)


def read_email(text: str, *, at: str = "email") -> str:
    """Return the one spelling of an address; raise Invalid if it is none, or could be mistaken.

    Letters of other scripts are refused: `аna@lab.example` with a Cyrillic а would be
    another person who reads like ana. Such a domain has a spelling in ASCII (`xn--…`).
    """
    address = text.strip()
    if not address.isascii():
        odd = next(letter for letter in address if not letter.isascii())
        raise Invalid(
            f"{shown(address)} has the character {odd!r}, which can be mistaken for another.",
            hint="Use an address in plain letters; write such a domain as xn--….",
            at=at,
            code="email",
        )
    address = address.lower()
    if len(address) > LONGEST or not _ADDRESS.fullmatch(address):
        raise Invalid(
            f"{shown(text)} is not an e-mail address.",
            hint="Write it as ana@lab.example.",
            at=at,
            code="email",
        )
    return address


def domain_of(email: str) -> str:
    return email.rpartition("@")[2]

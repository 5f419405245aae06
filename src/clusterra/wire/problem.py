"""An error as it travels: RFC 9457, with what to do next."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    type: str
    title: str
    status: int
    detail: str
    """What happened, in the user's numbers."""
    code: str
    """What exactly: `unknown-partition`."""
    kind: str = ""
    """What sort of thing, of a short fixed list: `refused`, `invalid`, `not-found`, …"""
    hint: str = ""
    """What to do next."""
    at: str = ""
    """Where in the request: a field, a line or a column."""

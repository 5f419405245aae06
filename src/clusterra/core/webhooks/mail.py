"""An e-mail, before any mail server has seen it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Mail:
    to: tuple[str, ...]
    subject: str
    text: str
    html: str = ""
    id: str = ""
    """The same for every try, so that a reader shows it once."""

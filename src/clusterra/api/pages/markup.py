"""Markup that cannot be broken out of.

What is not `Html` already is escaped on its way into a template, so a page has to go out of its
way to print an e-mail address or a program's name as it came.
"""

from html import escape


class Html(str):
    """Text that is markup: made by `html` from templates of ours, never from what others sent."""

    __slots__ = ()


def html(template: str, **values: object) -> Html:
    """Fill the `{names}` of a template that is written in our own source."""
    return Html(template.format_map({name: _safe(value) for name, value in values.items()}))


def joined(*parts: Html, by: str = "\n") -> Html:
    return Html(by.join(part for part in parts if part))


def _safe(value: object) -> str:
    return value if isinstance(value, Html) else escape(str(value))

"""What an address says of itself: which form is read there, and how much of it may be shown."""

import re
from urllib.parse import SplitResult, unquote, urlsplit

from clusterra.core.errors import Invalid
from clusterra.core.people.email import read_email
from clusterra.core.webhooks.endpoint import Format

MOST_RECIPIENTS = 10

_SLACK = ("hooks.slack.com", "hooks.slack-gov.com")
_TEAMS = ("webhook.office.com", "logic.azure.com", "powerplatform.com")
"""And what is below them."""

_DISPATCHES = re.compile(r"(?:/api/v3)?/repos/[\w.-]+/[\w.-]+/dispatches/?")


def format_of(url: str) -> Format:
    """Return the form that is read at an address; where nobody knows, the event as it is."""
    if url[:7].lower() == "mailto:":
        return Format.EMAIL
    parts = _split(url)
    host = _host(parts)
    if host in _SLACK:
        return Format.SLACK
    if any(host == each or host.endswith(f".{each}") for each in _TEAMS):
        return Format.TEAMS
    if host == "api.github.com" and parts is not None and _DISPATCHES.fullmatch(parts.path):
        return Format.GITHUB
    return Format.JSON


def check_format(url: str, format: Format) -> None:
    """Raise Invalid if that form can never be read at that address."""
    mail = url[:7].lower() == "mailto:"
    if mail and format is not Format.EMAIL:
        raise Invalid(
            f"An e-mail address is told by e-mail, and not as {format.value}.",
            hint="Leave the format out.",
            at="format",
        )
    if format is Format.EMAIL:
        check_mail(url)
    parts = _split(url)
    if format is Format.GITHUB and not _DISPATCHES.fullmatch(parts.path if parts else ""):
        raise Invalid(
            "This is not where GitHub takes a repository_dispatch.",
            hint="Use https://api.github.com/repos/OWNER/REPOSITORY/dispatches.",
            at="url",
        )


def shown_url(url: str, format: Format) -> str:
    """Return an address as it may be shown: whoever has a chat's whole address may write there."""
    if format is Format.EMAIL:
        return url
    parts = _split(url)
    if parts is None or not parts.scheme:
        return "…"
    place = (
        f"{parts.scheme}://{'…@' if '@' in parts.netloc else ''}{parts.netloc.rpartition('@')[2]}"
    )
    if format.is_chat or format_of(url).is_chat:
        return f"{place}/…"
    return place + parts.path + ("?…" if parts.query else "")


def check_mail(url: str) -> None:
    """Raise Invalid if nobody can be written to there."""
    recipients(url)


def recipients(url: str) -> tuple[str, ...]:
    """Return whom `mailto:ana@lab.example,ben@lab.example` means."""
    if url[:7].lower() != "mailto:":
        raise Invalid(
            "An e-mail needs an address to go to.", hint="Write mailto:ana@lab.example.", at="url"
        )
    names, question, _ = url[7:].partition("?")
    if question:
        raise Invalid(
            "A mailto: address may name people here, and nothing after a question mark.",
            hint="Leave out what follows the ?; the subject is made from the event.",
            at="url",
        )
    people = tuple(
        dict.fromkeys(read_email(unquote(each), at="url") for each in names.split(",") if each)
    )
    if not people:
        raise Invalid(
            "There is nobody in this address.", hint="Write mailto:ana@lab.example.", at="url"
        )
    if len(people) > MOST_RECIPIENTS:
        raise Invalid(
            f"{len(people)} people are too many for one address; the most is {MOST_RECIPIENTS}.",
            hint="Write to a mailing list, or add another webhook.",
            at="url",
        )
    return people


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        # Read here, because it is only then that a bad port is found out.
        _ = parts.port
    except ValueError:
        return None
    return parts


def _host(parts: SplitResult | None) -> str:
    return (parts.hostname or "").lower().rstrip(".") if parts else ""

"""What somebody wants of an endpoint, before it is one; and what they want changed."""

from dataclasses import dataclass, field, replace

from clusterra.core.cost.periods import zone
from clusterra.core.errors import Invalid
from clusterra.core.events.interest import Interest, check_interest
from clusterra.core.named import one_of
from clusterra.core.webhooks.endpoint import Endpoint, Format

LONGEST_NAME = 100
LONGEST_CREDENTIAL = 4096
MOST_PER_SECOND = 1000.0

GENTLE = {Format.SLACK: 1.0, Format.TEAMS: 1.0, Format.EMAIL: 1.0, Format.GITHUB: 5.0}
"""Messages a second that each takes without hiding or refusing some."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    url: str = field(repr=False)
    format: Format | None = None
    """None: by the address."""

    name: str = ""
    interest: Interest = field(default_factory=Interest)
    ordered: bool = False
    ed25519: bool = False
    allow_private: bool = False
    zone: str = ""
    per_second: float = 0
    credential: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """None leaves a thing as it is."""

    url: str | None = field(default=None, repr=False)
    name: str | None = None
    interest: Interest | None = None
    ordered: bool | None = None
    ed25519: bool | None = None
    allow_private: bool | None = None
    zone: str | None = None
    per_second: float | None = None
    credential: str | None = field(default=None, repr=False)


def format_named(text: str) -> Format | None:
    return one_of(Format, text, what="format", at="format") if text else None


def check_name(name: str) -> str:
    name = name.strip()
    if len(name) > LONGEST_NAME or not name.isprintable():
        raise Invalid(
            f"A name has at most {LONGEST_NAME} characters, all of them printable.",
            hint="Choose a shorter one, as genomics-slack.",
            at="name",
        )
    return name


def check_rate(per_second: float) -> float:
    if not 0 <= per_second <= MOST_PER_SECOND:
        raise Invalid(
            f"{per_second:g} messages a second are not possible.",
            hint=f"Say up to {MOST_PER_SECOND:g}, or 0 for no limit.",
            at="per_second",
        )
    return per_second


def check_credential(credential: str, format: Format) -> str:
    credential = credential.strip()
    if format is Format.GITHUB and not credential:
        raise Invalid(
            "GitHub starts workflows only for whoever shows a token.",
            hint="Make a fine-grained token with write access to the repository's contents, and send"
            " it as `credential` (in the terminal: --credential-file).",
            at="credential",
        )
    if len(credential) > LONGEST_CREDENTIAL or not credential.isascii() or " " in credential:
        raise Invalid(
            "This is no token: it is too long, or has spaces or letters that tokens do not have.",
            hint="Send the token alone.",
            at="credential",
        )
    return credential


def known_zone(name: str) -> str:
    """Return the zone's own name; nothing for nothing. Raises Invalid."""
    return zone(name).key if name else ""


def edited(endpoint: Endpoint, edit: Edit) -> Endpoint:
    """Return it with what can be changed without looking at anything else."""
    if edit.interest is not None:
        check_interest(edit.interest)
        endpoint = replace(endpoint, interest=edit.interest)
    if edit.ordered is not None:
        endpoint = replace(endpoint, ordered=edit.ordered)
    if edit.ed25519 is not None:
        endpoint = replace(endpoint, ed25519=edit.ed25519 and endpoint.format is Format.JSON)
    if edit.zone is not None:
        endpoint = replace(endpoint, zone=known_zone(edit.zone) or "UTC")
    if edit.per_second is not None:
        endpoint = replace(endpoint, per_second=check_rate(edit.per_second))
    return endpoint

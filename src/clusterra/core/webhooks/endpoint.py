"""An endpoint: whom to tell, of what, in which form."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from clusterra.core.change import Kind
from clusterra.core.events.interest import Interest


class Format(StrEnum):
    JSON = "json"
    """The event as the ledger has it: CloudEvents, signed as Standard Webhooks says."""

    SLACK = "slack"
    TEAMS = "teams"
    GITHUB = "github"
    """A `repository_dispatch`, which starts workflows."""

    EMAIL = "email"

    @property
    def is_chat(self) -> bool:
        """Read by people, so that a burst becomes one message."""
        return self in (Format.SLACK, Format.TEAMS, Format.EMAIL)


class Reach(StrEnum):
    """Which addresses may be dialled for an endpoint, beyond public ones."""

    PUBLIC = "public"
    LISTED = "listed"
    """And those on the list of whoever runs the server."""

    PRIVATE = "private"
    """And every private one, because whoever runs the server made this endpoint so. Never
    link-local ones, where clouds keep credentials."""


class EndpointState(StrEnum):
    ACTIVE = "active"
    PAUSED = "paused"
    """By a person. What happens meanwhile is kept."""

    DISABLED = "disabled"
    """By us, after it said that it is gone or failed for days. What happens meanwhile is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    sealed: str = field(repr=False)
    """As the vault locked it."""

    until: datetime | None = None
    """When it stops being signed with; None is the one that counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    id: str
    """`whk_…`"""

    workspace: str
    owner: str
    """Id of the person who made it. It is told what they may read, and no more."""

    name: str
    format: Format = Format.JSON
    url_sealed: str = field(repr=False)
    url_shown: str = ""
    """Without what is secret in it: a chat's address lets whoever has it write there."""

    secrets: tuple[Secret, ...] = ()
    """The newest first."""

    credential_sealed: str = field(default="", repr=False)
    """What GitHub wants to see."""

    interest: Interest = field(default_factory=Interest)
    begins: Mapping[str, int] = field(default_factory=dict)
    """By ledger: the last event before it was made. It is told of what comes after."""

    ordered: bool = False
    """One at a time, in the order of the ledger; a failure holds back what follows."""

    ed25519: bool = False
    """Signed with the workspace's own key as well (`v1a`)."""

    reach: Reach = Reach.PUBLIC
    zone: str = "UTC"
    """Whose times its messages show."""

    per_second: float = 0
    """Most messages a second; 0 is no limit of its own."""

    state: EndpointState = EndpointState.ACTIVE
    why: str = ""
    """Why it is not active."""

    since: datetime
    """When it came into this state."""

    created_at: datetime


WEBHOOK: Kind[Endpoint] = Kind("webhook", Endpoint)


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """How an endpoint has answered of late. Kept only while it does not answer well."""

    failing_since: datetime | None = None
    failures: int = 0
    """In a row."""

    warned: int = 0
    """How far on the way to being disabled was told already, in per cent."""


HEALTH: Kind[Health] = Kind("webhook-health", Health)
"""By endpoint."""

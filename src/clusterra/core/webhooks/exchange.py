"""What is sent, and what comes back: whatever the far side does is a value, and no exception."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from clusterra.core.webhooks.delivery import Timings
from clusterra.core.webhooks.endpoint import Reach

SNIPPET = 4096
"""How much of an answer is kept."""


class Failure(StrEnum):
    """Why there was no answer."""

    BLOCKED = "blocked"
    """The address may not be dialled."""

    DNS = "dns"
    CONNECT = "connect"
    TLS = "tls"
    TIMEOUT = "timeout"
    PROTOCOL = "protocol"
    """What came back is no HTTP."""

    MAIL = "mail"
    """The mail server would not have it."""

    URL = "url"
    """The address cannot be used any more: it is spelled wrong, or its secret cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    url: str = field(repr=False)
    body: bytes
    headers: Mapping[str, str]
    reach: Reach = Reach.PUBLIC


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    status: int | None = None
    """None if there was no answer; then `failure` says why not."""

    failure: Failure | None = None
    why: str = ""
    """In words, for whoever made the endpoint. Never names an address that was blocked."""

    headers: Mapping[str, str] = field(default_factory=dict)
    """Those that mean something to us, by their lower-case names: `retry-after`, `location`,
    `webhook-delivery`, `content-type`."""

    snippet: bytes = b""
    """The first bytes of the answer, as they came."""

    timings: Timings = field(default_factory=Timings)
    remote: str = ""
    """The address that was dialled."""

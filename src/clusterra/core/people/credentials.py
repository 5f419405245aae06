"""What people and machines show to be let in: sessions, tokens, links, codes, keys.

Of a secret only its hash is ever kept. They are long and random, so a plain SHA-256
is enough: there is no dictionary to try against it.
"""

import hashlib
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from clusterra.core.access import ALL_SCOPES, Scope
from clusterra.core.change import Kind
from clusterra.core.errors import Invalid
from clusterra.core.quote import shown

TOKEN_PREFIX = "clt_"  # noqa: S105 - how tokens begin, so that people and scanners know them
KEY_PREFIX = "clk_"

ACCESS_FOR = timedelta(minutes=15)
"""How long a session's cookie or bearer is good before it must be refreshed."""

SESSION_FOR = timedelta(days=30)
"""How long a session lives without being used."""

LINK_FOR = timedelta(minutes=10)
DEVICE_FOR = timedelta(minutes=10)

TWO_TABS = timedelta(seconds=10)
"""How long the refresh token before the last still counts: two tabs, or two commands, may ask
at the same moment. Later, somebody else has it."""

KEYS_AT_ONCE = 2
"""Live keys of one cluster for one use: the old and the new one, while machines change over."""


def hash_of(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """Somebody who has signed in, in one browser or terminal."""

    id: str
    person: str
    generation: int = 1
    """Which of its refresh tokens is good now. They are sealed and numbered, so that an older
    one is known for what it is: somebody has stolen one of the two."""

    rotated_at: datetime
    since: datetime
    expires_at: datetime
    within: str = ""
    """The only workspace it reaches; empty reaches all of the person's."""

    how: str = ""
    """`oidc`, `link`, `device`."""

    agent: str = ""
    address: str = ""
    id_token: str = ""
    """As the provider gave it, to sign out there too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """An API token: for scripts and programs, in a person's name."""

    id: str
    person: str
    hash: str
    name: str
    scopes: frozenset[Scope] = field(default=ALL_SCOPES)
    within: str = ""
    created_at: datetime
    created_by: str
    expires_at: datetime | None = None
    last_used_at: datetime | None = None
    """To within a minute or so: it is written now and then, not at each use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A one-time way in, for somebody who has no provider to ask."""

    person: str
    within: str = ""
    expires_at: datetime
    made_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceRequest:
    """A terminal that waits to be let in by somebody in a browser."""

    code: str
    """What the person types: `WDJB-MJHT`."""

    hash: str
    """Of the secret that only the terminal has."""

    expires_at: datetime
    asked_at: datetime
    agent: str = ""
    address: str = ""
    person: str = ""
    """Who let it in; empty while nobody has."""

    within: str = ""
    denied: bool = False


class KeyUse(StrEnum):
    COLLECTOR = "collector"
    """Brings what Slurm's hooks say."""

    AGENT = "agent"
    """Runs the machines of a cluster, and says what they do."""


def key_use(text: str) -> KeyUse:
    try:
        return KeyUse(text.lower())
    except ValueError:
        raise Invalid(
            f"A key cannot be for {shown(text)}.",
            hint=f"Say one of: {', '.join(KeyUse)}.",
            at="use",
        ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileKey:
    """A key that lies in a file beside the server, for whoever runs on the same machine."""

    cluster: str
    use: KeyUse
    secret: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterKey:
    """What a cluster's collector or agent shows."""

    id: str
    cluster: str
    hash: str
    name: str
    use: KeyUse = KeyUse.COLLECTOR
    created_at: datetime
    created_by: str
    last_used_at: datetime | None = None


SESSION: Kind[Session] = Kind("session", Session)
TOKEN: Kind[Token] = Kind("token", Token)
LINK: Kind[Link] = Kind("sign-in-link", Link)
"""By the hash of its code."""

DEVICE: Kind[DeviceRequest] = Kind("device", DeviceRequest)
"""By the code that the person types."""

CLUSTER_KEY: Kind[ClusterKey] = Kind("cluster-key", ClusterKey)

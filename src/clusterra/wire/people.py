"""People, workspaces, tokens, keys and sign-in as they travel."""

from dataclasses import dataclass, field
from datetime import datetime

from clusterra.wire.usage import SpendingView


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceView:
    id: str
    name: str
    role: str
    """What the caller is there: owner, admin, member or viewer."""
    others_jobs: str
    """What members see of each other's jobs: `details`, `queue` or `hidden`."""
    clusters: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspacePage:
    workspaces: list[WorkspaceView]
    total: int
    next: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EditWorkspace:
    name: str | None = None
    others_jobs: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Me:
    id: str
    email: str
    name: str
    login: str
    """The Linux user that one's jobs run as."""
    uid: int | None
    """Its number; null where whoever runs the server uses a Linux user that is not a person's."""
    workspaces: list[WorkspaceView]
    preferences: dict[str, str]
    by: str
    """What this request was let in by: `session`, `token` or `operator`."""
    scopes: list[str]
    expires_at: datetime | None
    """When that ends; null if it does not."""
    spending: SpendingView | None = None
    """What one's own jobs cost: now, today, this month."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EditMe:
    name: str | None = None
    preferences: dict[str, str] | None = None
    """Those to set; an empty value takes one away. Others stay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonView:
    id: str
    email: str
    name: str
    login: str
    uid: int
    role: str
    since: datetime
    by: str
    """Who gave them the role."""
    signed_in: bool
    """Whether they have ever signed in, or used a token."""
    last_seen_at: datetime | None
    """When they last did, to within minutes; null if they never have, or long ago."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeoplePage:
    people: list[PersonView]
    total: int
    next: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Invite:
    email: str
    role: str = "member"
    login: str | None = None
    """Their Linux user where they have one already; made from the e-mail if left out."""
    token: bool = False
    """Make an API token of theirs instead of a sign-in link."""
    minutes: int = 10
    """How long the sign-in link is good."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Invited:
    person: PersonView
    url: str | None = None
    """Where they sign in; a one-time link if this server has no identity provider."""
    token: str | None = None
    """Shown this once."""
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePerson:
    role: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    person: PersonView
    live_jobs: int
    """Their jobs that wait or run; they go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkMade:
    url: str
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateToken:
    name: str = ""
    scopes: list[str] = field(default_factory=list)
    """read, jobs, admin, self; none is all."""
    days: int | None = 90
    """How long it is good; null is for ever."""
    workspace: str | None = None
    """The only workspace it reaches; left out, all of one's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenView:
    id: str
    name: str
    scopes: list[str]
    workspace: str | None
    created_at: datetime
    created_by: str
    expires_at: datetime | None
    last_used_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenMade:
    token: str
    """Shown this once; only its hash is kept."""
    info: TokenView


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenPage:
    tokens: list[TokenView]
    total: int
    next: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionView:
    id: str
    how: str
    """`oidc`, `link` or `device`."""
    agent: str
    address: str
    since: datetime
    expires_at: datetime
    current: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPage:
    sessions: list[SessionView]
    total: int
    next: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateKey:
    name: str = ""
    use: str = "collector"
    """Who shows it: `collector` or `agent`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyView:
    id: str
    cluster: str
    name: str
    use: str
    """Who shows it: `collector` or `agent`."""
    created_at: datetime
    created_by: str
    last_used_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyMade:
    key: str
    """Shown this once; only its hash is kept."""
    info: KeyView


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPage:
    keys: list[KeyView]
    total: int
    next: str | None = None


# --- signing in


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInOffer:
    provider: str | None
    """The identity provider's name; null where people sign in by one-time links."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Callback:
    code: str
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UseLink:
    code: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Refresh:
    refresh_token: str = ""
    """Of a terminal. A browser sends its cookie instead, and an empty object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedIn:
    email: str
    expires_in: int
    """Seconds until it must be refreshed."""
    access_token: str | None = None
    refresh_token: str | None = None
    """For terminals; a browser gets both as cookies and sees neither."""
    token_type: str = "Bearer"  # noqa: S105 - its kind


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedOut:
    url: str | None
    """Where to sign out at the identity provider as well; null if it offers that nowhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskForTerminal:
    agent: str = ""
    """What asks, for the person who has to recognise it: `clusterra on login1`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TerminalAsked:
    device_code: str
    user_code: str
    """What the person compares or types: `WDJB-MJHT`."""
    verification_uri: str
    verification_uri_complete: str
    expires_in: int
    interval: int
    """Seconds between two questions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceCode:
    device_code: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TerminalView:
    user_code: str
    agent: str
    address: str
    asked_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerTerminal:
    approve: bool

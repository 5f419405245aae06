"""Webhooks as they travel."""

from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class AddWebhook:
    url: str
    """`https://…`, or `mailto:ana@lab.example` for e-mails."""
    types: list[str] = field(default_factory=list)
    """Events or globs, as `job.*`. Left out: every event; for people, what they want to know."""
    name: str = ""
    format: str = ""
    """`json`, `slack`, `teams`, `github` or `email`; found out from the address if left out."""
    workspace: str = ""
    """The only one there is, if left out."""
    clusters: list[str] = field(default_factory=list)
    people: list[str] = field(default_factory=list)
    """E-mails or Linux users."""
    partitions: list[str] = field(default_factory=list)
    states: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    """Names of jobs, or globs."""
    severity: str = ""
    """Nothing below: `info`, `notice`, `warning` or `error`."""
    ordered: bool = False
    ed25519: bool = False
    """Sign with the workspace's public key as well."""
    allow_private: bool = False
    """Its address is not a public one."""
    zone: str = ""
    """Whose times messages show: `Asia/Kolkata`. Yours if left out."""
    per_second: float = 0
    credential: str = ""
    """For GitHub: a token that may write to the repository's contents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EditWebhook:
    """What is left out stays as it is."""

    url: str | None = None
    types: list[str] | None = None
    name: str | None = None
    clusters: list[str] | None = None
    people: list[str] | None = None
    partitions: list[str] | None = None
    states: list[str] | None = None
    names: list[str] | None = None
    severity: str | None = None
    ordered: bool | None = None
    ed25519: bool | None = None
    allow_private: bool | None = None
    zone: str | None = None
    per_second: float | None = None
    credential: str | None = None
    state: str | None = None
    """`active` or `paused`."""
    replay: bool = True
    """With `active`: deliver what was kept meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookView:
    id: str
    name: str
    workspace: str
    owner: str
    """E-mail of whoever made it."""
    format: str
    url: str
    """Without what is secret in it."""
    types: list[str]
    clusters: list[str]
    people: list[str]
    partitions: list[str]
    states: list[str]
    names: list[str]
    severity: str
    ordered: bool
    ed25519: bool
    public_key: str
    """`whpk_…` where it is signed with; else empty."""
    allow_private: bool
    zone: str
    per_second: float
    state: str
    """`active`, `paused` or `disabled`."""
    why: str
    """Why it is not active, or does not answer."""
    since: datetime
    created_at: datetime
    failing_since: datetime | None
    waiting: int
    """Not told yet."""
    kept: int
    """Kept while it was paused or disabled."""
    delivered_day: int
    """Told, of what happened in the last 24 hours."""
    dead: int
    """Given up, and not replayed."""
    secrets: int
    """How many it is signed with: two while one is being rotated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookPage:
    webhooks: list[WebhookView]
    total: int
    next: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookMade:
    webhook: WebhookView
    id: str
    secret: str
    """Shown this once. Empty for formats that are not signed."""
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookChanged:
    webhook: WebhookView
    replaying: int = 0
    """How many that were kept are delivered now."""
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookDeleted:
    id: str
    name: str
    dropped: int
    """Deliveries that were waiting or kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RotateSecret:
    overlap_hours: float = 24
    """How long the old secret is signed with too; 0 ends it at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretRotated:
    id: str
    secret: str
    """Shown this once."""
    old_until: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TestWebhook:
    type: str = "job.completed"
    """Which event to make one up of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimingsView:
    dns_ms: float | None
    connect_ms: float | None
    tls_ms: float | None
    first_byte_ms: float | None
    total_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptView:
    number: int
    at: datetime
    status: int | None
    failure: str
    """The kind of failure where there was no answer."""
    why: str
    timings: TimingsView
    request_id: str
    remote: str
    """Only for whoever runs the server."""
    response: str
    """The first 4 kB; only for whoever made the webhook."""
    replay: bool
    together: int
    """How many events were in one message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookTested:
    """An event that was made up and sent once; it is in no ledger."""

    id: str
    type: str
    ok: bool
    attempt: AttemptView
    hint: str
    """What to do next, where it did not go well."""
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerEvent:
    type: str
    workspace: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventTriggered:
    type: str
    event: dict[str, object]
    """What was sent."""
    results: list[WebhookTested]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryView:
    event_id: str
    """Also the header `webhook-id`."""
    webhook: str
    type: str
    subject: str
    cluster: str
    """Whose ledger it is in."""
    seq: int
    at: datetime
    state: str
    """`pending`, `retry`, `ok`, `dead` or `kept`."""
    attempts: int
    most_attempts: int
    next_at: datetime | None
    ended_at: datetime | None
    status: int | None
    took_ms: int | None
    why: str
    replays: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryPage:
    deliveries: list[DeliveryView]
    next: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryDetail:
    delivery: DeliveryView
    sentence: str
    """Why it is not told yet, or how it was."""
    attempts: list[AttemptView]
    event: dict[str, object] | None
    """None if it has left the ledger."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """Which to deliver again: exactly one of the first three."""

    event_id: str = ""
    failed_since: str = ""
    """Those that were given up or kept, of events since then: RFC 3339, or an age as `2d`."""
    missing_since: str = ""
    """All in the ledger since then that match now and were never told."""
    types: list[str] = field(default_factory=list)
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    count: int
    dry_run: bool
    first_at: datetime | None
    last_at: datetime | None

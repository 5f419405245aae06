"""What administrators do."""

from dataclasses import dataclass
from datetime import datetime

from clusterra.core.events.fact import Fact, event


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminFact(Fact):
    id: str
    """Which one."""

    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenFact(AdminFact):
    email: str = ""
    """Whose it is."""

    scopes: tuple[str, ...] = ()
    address: str = ""
    agent: str = ""


@event("admin.token.created")
class AdminTokenCreated(TokenFact):
    """A token was made."""

    expires_at: datetime | None = None


@event("admin.token.first_used")
class AdminTokenFirstUsed(TokenFact):
    """A token was used for the first time."""


@event("admin.token.revoked")
class AdminTokenRevoked(TokenFact):
    """A token was made invalid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyFact(AdminFact):
    cluster: str = ""
    use: str = ""
    """Who shows it: `collector` or `agent`."""

    address: str = ""
    agent: str = ""


@event("admin.key.created")
class AdminKeyCreated(KeyFact):
    """A cluster was given a key for its collector or agent."""


@event("admin.key.first_used")
class AdminKeyFirstUsed(KeyFact):
    """A cluster's key was used for the first time."""


@event("admin.key.revoked")
class AdminKeyRevoked(KeyFact):
    """A cluster's key was made invalid."""


@event("admin.workspace.changed")
class AdminWorkspaceChanged(AdminFact):
    """A workspace's settings were changed."""

    address: str = ""
    agent: str = ""
    before: str = ""
    after: str = ""


@event("admin.cluster.added")
class AdminClusterAdded(AdminFact):
    """A cluster was registered."""

    slurm: str = ""
    """Address of its slurmrestd."""


@event("admin.cluster.removed")
class AdminClusterRemoved(AdminFact):
    """A cluster is no longer looked after; its ledger is kept."""


@event("admin.policy.changed")
class AdminPolicyChanged(AdminFact):
    """How a cluster's fleet may grow and shrink was changed."""

    cluster: str = ""
    changed: tuple[str, ...] = ()
    """Each as `name: before → after`."""


@event("admin.retention.changed")
class AdminRetentionChanged(AdminFact):
    """How long files stay on a cluster was changed."""

    cluster: str = ""
    changed: tuple[str, ...] = ()
    """Each as `outputs: 30 days`."""


@event("admin.webhook.created")
class AdminWebhookCreated(AdminFact):
    """A webhook was made."""


@event("admin.webhook.changed")
class AdminWebhookChanged(AdminFact):
    """A webhook was changed, paused or resumed."""


@event("admin.webhook.deleted")
class AdminWebhookDeleted(AdminFact):
    """A webhook was taken away."""


@event("admin.webhook.secret_rotated")
class AdminWebhookSecretRotated(AdminFact):
    """A webhook was given a new secret; the old one is signed with too, for a while."""

    old_until: datetime | None = None


@event("admin.automation.created")
class AdminAutomationCreated(AdminFact):
    """An automation was made."""


@event("admin.automation.changed")
class AdminAutomationChanged(AdminFact):
    """An automation was changed, turned on or off."""

    changed: tuple[str, ...] = ()


@event("admin.automation.deleted")
class AdminAutomationDeleted(AdminFact):
    """An automation was taken away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminQuotaFact(AdminFact):
    workspace: str = ""
    email: str = ""
    """Whose; empty if it is the whole workspace's."""

    why: str = ""
    """What the admin said for a reason."""


@event("admin.quota.changed")
class AdminQuotaChanged(AdminQuotaFact):
    """A person's or a workspace's limit was set, changed or lifted."""

    changed: tuple[str, ...] = ()
    """Each as `month: $300.00 → $400.00`."""


@event("admin.quota.raised")
class AdminQuotaRaised(AdminQuotaFact):
    """More was allowed for a while, on top of a limit; or that was ended."""

    micros: int = 0
    """How much; 0 ends it."""

    until: datetime | None = None


@event("admin.prices.changed")
class AdminPricesChanged(AdminFact):
    """What a cluster's machines are said to cost was changed."""

    cluster: str = ""
    changed: tuple[str, ...] = ()


@event("admin.template.changed")
class AdminTemplateChanged(AdminFact):
    """A job template was added, changed or taken away."""

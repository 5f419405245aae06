"""Who came and went, who may do what, and what people spend."""

from dataclasses import dataclass

from clusterra.core.events.fact import Fact, event


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInFact(Fact):
    email: str
    address: str = ""
    """Where they came from."""

    agent: str = ""
    """What they came with: a browser, `clusterra/0.1.0`."""

    how: str = ""
    """`oidc`, `link` or `device`."""


@event("user.login")
class UserLogin(SignInFact):
    """A person signed in."""


@event("user.login_failed")
class UserLoginFailed(SignInFact):
    """Somebody tried to sign in and was refused."""

    why: str = ""
    """The code of the refusal: `email-not-verified`, `bad-nonce`, `not-invited`, …"""


@event("user.logout")
class UserLogout(SignInFact):
    """A session ended: its person signed out, or it was ended for them."""

    why: str = ""
    """Empty if they signed out; else `revoked`, `removed`, `refresh-token-reused`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessFact(Fact):
    email: str
    role: str
    workspace: str = ""
    by_rule: str = ""
    """The rule that did it, where no person did: `domain lab.example`, `group hpc-admins`."""

    address: str = ""
    agent: str = ""
    """Where whoever did it came from, and with what."""


@event("user.access.granted")
class UserAccessGranted(AccessFact):
    """A person was given a role."""

    login: str = ""
    uid: int | None = None
    """The Linux user they are wherever their jobs run."""


@event("user.access.revoked")
class UserAccessRevoked(AccessFact):
    """A role was taken from a person. Their jobs go on; they can submit no more."""

    left_live: int = 0
    """Their jobs that were waiting or running then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaFact(Fact):
    user: str
    """Whose: an e-mail; empty if it is the whole workspace's."""

    used: str
    limit: str
    """In dollars: `41.20`."""

    currency: str
    period: str
    """`2026-11`, `2026-11-16`."""

    workspace: str = ""
    mode: str = ""
    """What follows: `observe`, `warn`, `block` or `block_and_kill`."""


@event("user.quota.high")
class UserQuotaHigh(QuotaFact):
    """A person, or a workspace, has spent four fifths of what they may."""


@event("user.quota.exceeded")
class UserQuotaExceeded(QuotaFact):
    """A person, or a workspace, has spent all that they may."""


@event("user.cost.unusual")
class UserCostUnusual(Fact):
    """A person, or a workspace, spends three times as much today as on a usual day."""

    user: str
    """Whose: an e-mail; empty if it is the whole workspace."""

    period: str
    """The day."""

    micros: int
    usual_micros: int
    """The middle of the days before, in millionths of a dollar."""

    workspace: str = ""

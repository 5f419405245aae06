"""How others are told."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookSettings:
    private: tuple[str, ...] = ()
    """Networks and hosts that are not public and that webhooks may reach all the same, as
    `10.1.0.0/16` or `ci.lab.example`. Link-local addresses only by the name of their network."""

    timeout_seconds: float = 15
    """How long one delivery may take, its answer included."""

    lease_seconds: float = 60
    """How long whoever delivers to an endpoint is the only one who does. At least five seconds
    more than a delivery may take; with less, the server does not start."""

    at_once: int = 64
    """Most deliveries under way at a time. A third is kept for first tries."""

    keep_days: int = 30
    """How long it is kept what was delivered, and what could not be and may be replayed."""

    key: Path | None = None
    """File with the key that secrets are locked with; made if it is missing. `webhooks.key` in the
    state directory if left out."""

    proxy: str = ""
    """Address of a proxy that deliveries go through, as `http://proxy.lab.example:3128`. Variables
    of the environment are not looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MailSettings:
    """Only where e-mails are to be sent."""

    host: str
    """The mail server."""

    sender: str
    """Whom e-mails are from: `Clusterra <clusterra@lab.example>`."""

    port: int = 587
    """Its port: 587 and 25 begin in the open and change to TLS, 465 begins with it."""

    user: str = ""
    """Whom to sign in as; empty signs in as nobody."""

    password_file: Path | None = None
    """File with the password."""

    security: str = "starttls"
    """`starttls`, `tls`, or `none` for a mail server on this machine."""

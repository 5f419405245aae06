"""Where people sign in, and what workspaces there are."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcSettings:
    issuer: str
    """Address of the identity provider, exactly as it names itself: `https://lab.okta.com`."""

    client_id: str
    """What the provider calls this server."""

    client_secret_file: Path | None = None
    """File with the secret that goes with it; a public client has none."""

    name: str = ""
    """What people call the provider; its host name if left out."""

    scopes: tuple[str, ...] = ("openid", "email", "profile")
    """What the provider is asked for; some want `groups` here before they tell them."""

    groups_claim: str = "groups"
    """Where in the ID token somebody's groups are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceSettings:
    id: str
    """Short name in URLs; also the Slurm account of its people."""

    name: str = ""
    """What people call it; the id if left out."""

    domains: tuple[str, ...] = ()
    """E-mail domains whose people are in it without being invited. Only with a provider."""

    domain_role: str = "member"
    """What they are there."""

    groups: Mapping[str, str] = field(default_factory=dict)
    """Roles by the provider's groups: `{ "hpc-admins" = "admin" }`."""

"""Find the account's credentials where AWS's own tools do, in their order.

The environment, then a profile of the shared credentials file, then who lends some: to a
container (ECS, EKS Pod Identity), or to a machine of EC2. Only found here, not yet borrowed,
so that it is known without waiting whether there is anything to ask with.

Not looked for: single sign-on and roles to assume. `aws configure export-credentials` turns
those into the environment's three variables.
"""

import ipaddress
from collections.abc import Mapping
from configparser import Error, RawConfigParser
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from clusterra.core.errors import Refused

_CONTAINERS = "http://169.254.170.2"
"""Where ECS lends them."""

_LENDERS = frozenset({"169.254.170.2", "169.254.170.23", "fd00:ec2::23"})
"""The only addresses but this machine's own that may be asked without TLS: ECS's and EKS's."""

_VENDOR = Path("/sys/class/dmi/id/sys_vendor")
"""Whose machine this is. Asking the network instead would take a timeout to hear that it is
nobody's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    key_id: str
    secret: str = field(repr=False)
    token: str = field(default="", repr=False)
    """Of a session; it makes them expire."""

    @property
    def name(self) -> str:
        """What tells them apart in a sentence without giving them away."""
        return f"ending in {self.key_id[-4:]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lender:
    """Who gives a container credentials that last for some hours, whenever it asks."""

    url: str
    authorization: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """The machine of EC2 that this is. If it has a role, it lends that role's credentials."""

    url: str = "http://169.254.169.254"


def credentials(environ: Mapping[str, str]) -> Credentials | Lender | Instance | None:
    """Return what AWS can be asked with; None if there is nothing of the kind here.

    Raises Refused if there is something that cannot be used.
    """
    key_id, secret = environ.get("AWS_ACCESS_KEY_ID"), environ.get("AWS_SECRET_ACCESS_KEY")
    if key_id and secret:
        return Credentials(key_id=key_id, secret=secret, token=environ.get("AWS_SESSION_TOKEN", ""))
    return _of_file(environ) or _lender(environ) or _instance(environ)


def _of_file(environ: Mapping[str, str]) -> Credentials | None:
    name = environ.get("AWS_SHARED_CREDENTIALS_FILE", "")
    if not name and not environ.get("HOME"):
        return None
    file = Path(name) if name else Path(environ["HOME"], ".aws", "credentials")
    profiles = RawConfigParser()  # raw: a secret may have a % in it
    try:
        profiles.read_string(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (Error, OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it has a line that is no setting"
        raise Refused(
            f"The file {file} with AWS credentials cannot be read: {why}.",
            hint="Mend it, or set AWS_SHARED_CREDENTIALS_FILE to another.",
            code="cloud-credentials",
        ) from None
    profile = environ.get("AWS_PROFILE") or "default"
    found = profiles[profile] if profiles.has_section(profile) else {}
    key_id, secret = found.get("aws_access_key_id"), found.get("aws_secret_access_key")
    if not key_id or not secret:
        return None
    return Credentials(key_id=key_id, secret=secret, token=found.get("aws_session_token") or "")


def _lender(environ: Mapping[str, str]) -> Lender | None:
    path = environ.get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")
    url = _CONTAINERS + path if path else environ.get("AWS_CONTAINER_CREDENTIALS_FULL_URI", "")
    if not url:
        return None
    if not _trusted(url):
        raise Refused(
            f"AWS credentials cannot be asked for at {url}: anybody on the way could read them.",
            hint="AWS_CONTAINER_CREDENTIALS_FULL_URI has to be https, or an address of this machine.",
            code="cloud-credentials",
        )
    token_file = environ.get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")
    try:
        authorization = (
            Path(token_file).read_text(encoding="utf-8")
            if token_file
            else environ.get("AWS_CONTAINER_AUTHORIZATION_TOKEN", "")
        )
    except OSError as error:
        raise Refused(
            f"The file {token_file}, to borrow AWS credentials with, cannot be read:"
            f" {error.strerror}.",
            hint="AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE names it.",
            code="cloud-credentials",
        ) from None
    return Lender(url=url, authorization=authorization.strip())


def _trusted(url: str) -> bool:
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        return (
            parts.scheme == "https"
            or host == "localhost"
            or host in _LENDERS
            or ipaddress.ip_address(host).is_loopback
        )
    except ValueError:
        return False


def _instance(environ: Mapping[str, str]) -> Instance | None:
    if environ.get("AWS_EC2_METADATA_DISABLED", "").lower() == "true":
        return None
    if url := environ.get("AWS_EC2_METADATA_SERVICE_ENDPOINT"):
        return Instance(url=url.rstrip("/"))
    try:
        ours = _VENDOR.read_text(encoding="utf-8").strip() == "Amazon EC2"
    except (OSError, UnicodeDecodeError):
        return None
    return Instance() if ours else None

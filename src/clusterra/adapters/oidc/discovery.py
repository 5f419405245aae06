"""What a provider says about itself, and which of it we believe.

The document comes from the issuer that an admin wrote down; it may name that issuer and
no other, and addresses as safe as its own. Fetching and keeping it is `provider`'s.
"""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from clusterra.core.errors import Invalid, Unauthenticated, Unreachable

ALGORITHMS = frozenset(
    {
        *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
        *("ES256", "ES384", "ES512", "EdDSA", "Ed25519"),
    }
)
"""Signatures that only the provider can make. HS256 and its like are not among them: what
checks those also makes them, and the provider's public key would do as the secret."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovery:
    issuer: str
    authorization: str
    token: str
    keys: str
    userinfo: str = ""
    end_session: str = ""
    algorithms: frozenset[str]
    """Those it signs ID tokens with that are good enough for us."""

    token_auth: str
    """How we show the client's secret: `client_secret_basic` or `client_secret_post`."""


def discovery_address(issuer: str) -> str:
    """Return where the issuer describes itself; raise Invalid if it cannot be an issuer."""
    if not _secure(issuer) or set("?#@") & set(issuer):
        raise Invalid(
            f"The issuer {issuer} cannot be used: it has to be a plain https address.",
            hint="Write it as the provider does, as in `https://accounts.google.com`. Only on"
            " this machine itself may it be http.",
            code="oidc-issuer",
        )
    return issuer.removesuffix("/") + "/.well-known/openid-configuration"


def understand(document: Mapping[str, Any], *, issuer: str, name: str) -> Discovery:
    _same_issuer(document.get("issuer"), issuer, name)

    def address(key: str, *, needed: bool = False) -> str:
        value = document.get(key)
        if isinstance(value, str) and _as_secure_as(value, issuer):
            return value
        if value or needed:
            raise Unreachable(
                f"{name} describes itself without a usable `{key}`.",
                hint=f"An admin should look at {discovery_address(issuer)}.",
                code="provider-unreadable",
            )
        return ""

    # A provider has to list them; RS256 is what all have to have.
    signs_with = _strings(document, "id_token_signing_alg_values_supported") or ("RS256",)
    takes = _strings(document, "token_endpoint_auth_methods_supported")
    only_post = "client_secret_post" in takes and "client_secret_basic" not in takes
    return Discovery(
        issuer=issuer,
        authorization=address("authorization_endpoint", needed=True),
        token=address("token_endpoint", needed=True),
        keys=address("jwks_uri", needed=True),
        userinfo=address("userinfo_endpoint"),
        end_session=address("end_session_endpoint"),
        algorithms=ALGORITHMS.intersection(signs_with),
        token_auth="client_secret_post" if only_post else "client_secret_basic",
    )


def _same_issuer(found: object, issuer: str, name: str) -> None:
    if found == issuer:
        return
    if isinstance(found, str) and "{tenantid}" in found:
        # Any organisation may then sign in, and its admins may give anybody any e-mail.
        raise Unauthenticated(
            f"The issuer {issuer} stands for every organisation that Microsoft knows.",
            hint="An admin should set the issuer of your own:"
            f" `{found.replace('{tenantid}', 'TENANT-ID')}`.",
            code="bad-issuer",
        )
    raise Unauthenticated(
        f"{name} does not call itself {issuer}, as the settings do, but {found}.",
        hint="An admin should write the issuer exactly as the provider does, if that is the one.",
        code="bad-issuer",
    )


def _strings(document: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = document.get(key)
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else ()


def _as_secure_as(url: str, issuer: str) -> bool:
    return _secure(url) and (url.startswith("https://") or issuer.startswith("http://"))


def _secure(url: str) -> bool:
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        _ = parts.port
    except ValueError:
        return False
    return bool(host) and (
        parts.scheme == "https" or (parts.scheme == "http" and _this_machine(host))
    )


def _this_machine(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False

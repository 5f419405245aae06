"""Who somebody is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """Who somebody is, as their identity provider says; every check has been passed."""

    issuer: str
    subject: str
    """Theirs for ever at that issuer, which an e-mail is not."""

    email: str
    """Verified by the provider; as it wrote it."""

    name: str = ""
    groups: tuple[str, ...] = ()
    id_token: str = field(default="", repr=False)
    """As it came, to be shown to the provider when they sign out."""


class Provider(Protocol):
    """Where people sign in: OpenID Connect by discovery, authorization code with PKCE."""

    name: str
    """What people call it: `Meridian SSO`."""

    async def sign_in_url(
        self, *, state: str, nonce: str, verifier: str, redirect_uri: str, another: bool = False
    ) -> str:
        """Return where to send the browser; with `another`, to choose another account there.

        Raises Unreachable if discovery fails.
        """
        ...

    async def redeem(self, code: str, *, verifier: str, nonce: str, redirect_uri: str) -> Claims:
        """Turn a code into who came back with it, once.

        Raises Unauthenticated, with a code of its own for each cause, if the provider does
        not take the code or its ID token does not pass; Unreachable if it cannot be asked.
        """
        ...

    async def sign_out_url(self, *, id_token: str, back_to: str) -> str:
        """Return where the browser signs out at the provider too; empty if it offers that nowhere."""
        ...

    async def close(self) -> None: ...


class Sealer(Protocol):
    """Lets us give something to a client and know it again when it comes back."""

    def seal(self, kind: str, content: Mapping[str, str], *, until: datetime) -> str:
        """Return `content` as text that nobody else can make or change, good until then."""
        ...

    def opened(self, kind: str, sealed: str) -> Mapping[str, str]:
        """Return what was sealed as this kind.

        Raises Unauthenticated: `token-expired` if its time is over, `bad-token` if it is not ours.
        """
        ...

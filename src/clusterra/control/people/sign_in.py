"""Sign in with the identity provider: send the browser there, and see who comes back.

What comes of it is a session (`sessions`); where there is no provider, `links` let
people in.
"""

import hmac
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from clusterra.control.people.doing import Visit
from clusterra.control.people.drawn import new_secret
from clusterra.control.people.roster import Roster
from clusterra.control.people.sessions import Opened, Sessions
from clusterra.core.errors import ClusterraError, NotFound, Unauthenticated
from clusterra.core.people.credentials import LINK_FOR, Session
from clusterra.core.people.rules import Rules
from clusterra.ports import Claims, Clock, Provider, Sealer

SIGNING_IN = "signing-in"
"""The kind of sealed text that a browser keeps while it is away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Away:
    """A browser on its way to the provider."""

    url: str
    kept: str
    """What it keeps, sealed, to show that it was this browser that left."""


@dataclass(slots=True, kw_only=True)
class SignIn:
    roster: Roster
    sessions: Sessions
    sealer: Sealer
    clock: Clock
    provider: Provider | None = None
    rules: Sequence[Rules] = ()

    async def begin(self, *, to: str, redirect_uri: str, another: bool = False) -> Away:
        provider = self._provider()
        state, nonce, verifier = new_secret(), new_secret(), new_secret()
        url = await provider.sign_in_url(
            state=state,
            nonce=nonce,
            verifier=verifier,
            redirect_uri=redirect_uri,
            another=another,
        )
        kept = {"state": state, "nonce": nonce, "verifier": verifier, "to": to}
        return Away(
            url=url, kept=self.sealer.seal(SIGNING_IN, kept, until=self.clock.now() + LINK_FOR)
        )

    async def finish(
        self, *, code: str, state: str, kept: str, redirect_uri: str, visit: Visit
    ) -> Opened:
        provider = self._provider()
        claims: Claims | None = None
        try:
            left = self._left(kept, state)
            claims = await provider.redeem(
                code, verifier=left["verifier"], nonce=left["nonce"], redirect_uri=redirect_uri
            )
            person = await self.roster.come(claims, self.rules)
        except ClusterraError as error:
            await self.sessions.failed(
                error, visit, how="oidc", email=claims.email if claims else ""
            )
            raise
        opened = await self.sessions.open(person, how="oidc", visit=visit, id_token=claims.id_token)
        return replace(opened, to=left["to"])

    async def turned_back(
        self, *, error: str, description: str, state: str, kept: str, visit: Visit
    ) -> NoReturn:
        """Raise why the provider sent a browser back without having signed anybody in."""
        try:
            # First: else anybody's link could have this server say what they like.
            self._left(kept, state)
            raise _turned_back(self._provider().name, error, description)
        except Unauthenticated as refusal:
            await self.sessions.failed(refusal, visit, how="oidc")
            raise

    def _left(self, kept: str, state: str) -> dict[str, str]:
        """Return what this browser left with; raise if it is not the one that left."""
        try:
            left = dict(self.sealer.opened(SIGNING_IN, kept))
        except Unauthenticated:
            left = {}
        if not left or not hmac.compare_digest(left["state"].encode(), state.encode()):
            raise Unauthenticated(
                "This sign-in was not begun in this browser, or more than 10 minutes ago.",
                hint="Begin again, and finish in the same browser.",
                code="bad-state",
            )
        return left

    async def sign_out_url(self, session: Session, *, back_to: str) -> str:
        if self.provider is None or not session.id_token:
            return ""
        try:
            return await self.provider.sign_out_url(id_token=session.id_token, back_to=back_to)
        except ClusterraError:
            return ""  # they are signed out here; the provider cannot be asked at the moment

    def _provider(self) -> Provider:
        if self.provider is None:
            raise NotFound(
                "This server has no identity provider.",
                hint="People sign in by one-time links here: `clusterra people link` makes one.",
                code="no-provider",
            )
        return self.provider


def _turned_back(provider: str, error: str, description: str) -> Unauthenticated:
    if error == "access_denied" and not description:
        return Unauthenticated(
            f"Signing in was cancelled at {provider}.",
            hint="You can begin again at any time.",
            code="provider-refused",
        )
    return Unauthenticated(
        f"{provider} did not sign you in: {(description or error)[:200].rstrip('.')}.",
        hint="Try again; if it stays so, show this to whoever runs the provider.",
        code="provider-refused",
    )

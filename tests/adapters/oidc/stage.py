"""Sign somebody in with a provider that says what a test wants."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from clusterra.adapters.memory import ManualClock
from clusterra.adapters.oidc import OidcProvider
from clusterra.core.errors import Unauthenticated
from clusterra.ports import Claims, Provider
from tests.provider.evil import ACCESS_TOKEN, CLIENT_ID, CLIENT_SECRET, Evil

NOON = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
VERIFIER = "a-verifier-of-at-least-forty-three-characters"
BACK = "https://hpc.lab.example/auth/callback"


def provider_at(
    issuer: str, clock: ManualClock, client_secret: str = CLIENT_SECRET
) -> OidcProvider:
    return OidcProvider(
        issuer=issuer,
        client_id=CLIENT_ID,
        client_secret=client_secret,
        name="Meridian SSO",
        scopes=("email", "profile"),
        groups_claim="groups",
        clock=clock,
    )


@asynccontextmanager
async def provider_of(evil: Evil, client_secret: str = CLIENT_SECRET) -> AsyncIterator[Provider]:
    assert isinstance(evil.clock, ManualClock)
    async with evil.listening():
        provider = provider_at(evil.issuer, evil.clock, client_secret)
        try:
            yield provider
        finally:
            await provider.close()


async def granted(evil: Evil, provider: Provider, nonce: str = "the-nonce") -> str:
    url = await provider.sign_in_url(
        state="the-state", nonce=nonce, verifier=VERIFIER, redirect_uri=BACK
    )
    return evil.grant(url) if nonce else evil.grant(f"{url}&nonce=none")


async def redeem(
    provider: Provider, code: str, verifier: str = VERIFIER, nonce: str = "the-nonce"
) -> Claims:
    return await provider.redeem(code, verifier=verifier, nonce=nonce, redirect_uri=BACK)


def signed_in(evil: Evil, *, redeemed_with: str = VERIFIER, nonce: str = "the-nonce") -> Claims:
    async def story() -> Claims:
        async with provider_of(evil) as provider:
            code = await granted(evil, provider, nonce)
            return await redeem(provider, code, redeemed_with, nonce)

    return asyncio.run(story())


def refused(evil: Evil, **how: str) -> Unauthenticated:
    with pytest.raises(Unauthenticated) as caught:
        signed_in(evil, **how)
    error = caught.value
    assert error.detail.endswith(".")
    assert error.hint
    for secret in (ACCESS_TOKEN, CLIENT_SECRET, VERIFIER, "eyJ"):
        assert secret not in error.detail + error.hint
    return error


def refusal(evil: Evil, **how: str) -> str:
    return refused(evil, **how).code


def code_of(story: Callable[[], Awaitable[None]]) -> str:
    async def told() -> None:
        await story()

    with pytest.raises(Unauthenticated) as caught:
        asyncio.run(told())
    return caught.value.code


def part(document: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(document).encode()).rstrip(b"=").decode()

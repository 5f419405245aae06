"""Sign in with a provider that the OpenID Foundation has certified, as a person does."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from clusterra.adapters.clock import SystemClock
from clusterra.adapters.oidc import OidcProvider
from clusterra.core.errors import Unauthenticated
from clusterra.ports import Claims
from tests.adapters.oidc.stage import VERIFIER
from tests.provider.run import Certified, certified_provider
from tests.provider.visitor import Visitor

pytestmark = [pytest.mark.e2e, pytest.mark.enable_socket]

BACK = "http://127.0.0.1:8420/auth/callback"
SIGNED_OUT = "http://127.0.0.1:8420/signed-out"
ANA = "ana@lab.example"
PEOPLE: dict[str, dict[str, Any]] = {
    ANA: {"name": "Ana", "groups": ["hpc-admins", "staff"]},
    "new@lab.example": {"email_verified": False},
}


@pytest.fixture(scope="module")
def certified() -> Iterator[Certified]:
    with certified_provider(
        redirect_uris=[BACK], post_logout_redirect_uris=[SIGNED_OUT], accounts=PEOPLE
    ) as provider:
        yield provider


def test_a_person_signs_in_and_is_known_by_address_name_and_groups(certified: Certified) -> None:
    claims = asyncio.run(_signed_in(certified))

    assert (claims.issuer, claims.email, claims.name) == (certified.issuer, ANA, "Ana")
    assert claims.groups == ("hpc-admins", "staff")


def test_what_a_thin_token_leaves_out_is_asked_for() -> None:
    with certified_provider(redirect_uris=[BACK], accounts=PEOPLE, thin=True) as thin:
        claims = asyncio.run(_signed_in(thin))

    assert (claims.email, claims.name) == (ANA, "Ana")
    assert claims.groups == ("hpc-admins", "staff")


def test_a_new_address_is_the_same_person(certified: Certified) -> None:
    before = asyncio.run(_signed_in(certified))
    certified.change(ANA, email="ana.lopez@lab.example")
    after = asyncio.run(_signed_in(certified))
    certified.change(ANA, email=ANA)

    assert after.email == "ana.lopez@lab.example"
    assert after.subject == before.subject


def test_a_code_is_taken_once_and_only_with_its_verifier(certified: Certified) -> None:
    async def story() -> None:
        async with _provider(certified) as ours:
            code = await _code(certified, ours)
            assert await _refusal(ours, code, verifier=VERIFIER[::-1]) == "code-refused"
            code = await _code(certified, ours)
            await _redeem(ours, code)
            assert await _refusal(ours, code) == "code-refused"

    asyncio.run(story())


def test_the_answer_to_another_sign_in_is_refused(certified: Certified) -> None:
    async def story() -> str:
        async with _provider(certified) as ours:
            return await _refusal(ours, await _code(certified, ours), nonce="another")

    assert asyncio.run(story()) == "bad-nonce"


def test_an_unverified_address_is_refused(certified: Certified) -> None:
    async def story() -> str:
        async with _provider(certified) as ours:
            return await _refusal(ours, await _code(certified, ours, login="new@lab.example"))

    assert asyncio.run(story()) == "email-not-verified"


def test_a_wrong_secret_is_the_admins_to_mend(certified: Certified) -> None:
    async def story() -> str:
        async with _provider(certified, client_secret="wrong") as ours:
            return await _refusal(ours, await _code(certified, ours))

    assert asyncio.run(story()) == "client-refused"


def test_keys_are_rotated_under_people_who_are_signing_in(certified: Certified) -> None:
    async def story() -> None:
        async with _provider(certified) as ours:
            await _redeem(ours, await _code(certified, ours))
            begun = await _code(certified, ours)
            await asyncio.to_thread(certified.rotate, forget=True)
            await _redeem(ours, begun)
            await _redeem(ours, await _code(certified, ours))

    asyncio.run(story())


def test_whoever_signs_out_is_asked_again_who_they_are(certified: Certified) -> None:
    async def story() -> None:
        async with _provider(certified) as ours:
            visitor = certified.visitor()
            claims = await _redeem(ours, await _code(certified, ours, visitor=visitor))
            url = await _sign_in_url(ours)
            assert visitor.go(url).startswith(BACK)  # signed in: not asked

            out = await ours.sign_out_url(id_token=claims.id_token, back_to=SIGNED_OUT)
            assert certified.sign_out(out, visitor=visitor) == SIGNED_OUT
            assert "Continue" in visitor.go(url)

    asyncio.run(story())


def test_whoever_changes_their_mind_comes_back_without_a_code(certified: Certified) -> None:
    async def story() -> str:
        async with _provider(certified) as ours:
            visitor = certified.visitor()
            return visitor.press("Cancel", visitor.go(await _sign_in_url(ours)))

    came_back_with = parse_qs(urlsplit(asyncio.run(story())).query)

    assert came_back_with["error"] == ["access_denied"]
    assert came_back_with["state"] == ["the-state"]


@asynccontextmanager
async def _provider(certified: Certified, client_secret: str = "") -> AsyncIterator[OidcProvider]:
    ours = OidcProvider(
        issuer=certified.issuer,
        client_id=certified.client_id,
        client_secret=client_secret or certified.client_secret,
        name="Meridian SSO",
        scopes=("openid", "email", "profile", "groups"),
        groups_claim="groups",
        clock=SystemClock(),
    )
    try:
        yield ours
    finally:
        await ours.close()


async def _sign_in_url(ours: OidcProvider) -> str:
    return await ours.sign_in_url(
        state="the-state", nonce="the-nonce", verifier=VERIFIER, redirect_uri=BACK
    )


async def _code(
    certified: Certified, ours: OidcProvider, *, login: str = ANA, visitor: Visitor | None = None
) -> str:
    back = certified.sign_in(await _sign_in_url(ours), login, visitor=visitor)
    query = parse_qs(urlsplit(back).query)
    assert back.startswith(f"{BACK}?")
    assert query["state"] == ["the-state"]
    return query["code"][0]


async def _redeem(
    ours: OidcProvider, code: str, *, verifier: str = VERIFIER, nonce: str = "the-nonce"
) -> Claims:
    return await ours.redeem(code, verifier=verifier, nonce=nonce, redirect_uri=BACK)


async def _refusal(ours: OidcProvider, code: str, **how: str) -> str:
    with pytest.raises(Unauthenticated) as refused:
        await _redeem(ours, code, **how)
    return refused.value.code


async def _signed_in(certified: Certified) -> Claims:
    async with _provider(certified) as ours:
        return await _redeem(ours, await _code(certified, ours))

"""What the provider is asked, and one that answers badly or not at all."""

import asyncio
import socket
from collections.abc import Callable
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
from aiohttp import web

from clusterra.adapters.memory import ManualClock
from clusterra.adapters.oidc.discovery import understand
from clusterra.adapters.oidc.line import Line
from clusterra.adapters.oidc.person import prompt_for_another
from clusterra.core.errors import Invalid, Unreachable
from clusterra.ports import Claims
from tests.adapters.oidc.stage import (
    BACK,
    NOON,
    VERIFIER,
    code_of,
    granted,
    provider_at,
    provider_of,
    redeem,
    refusal,
    refused,
    signed_in,
)
from tests.provider.evil import CLIENT_ID, CLIENT_SECRET, Evil

pytestmark = pytest.mark.enable_socket

DISCOVERY = "/.well-known/openid-configuration"


def test_the_browser_is_sent_with_everything_that_binds_the_answer_to_it(evil: Evil) -> None:
    async def story() -> str:
        async with provider_of(evil) as provider:
            return await provider.sign_in_url(
                state="the-state", nonce="the-nonce", verifier=VERIFIER, redirect_uri=BACK
            )

    url = asyncio.run(story())
    asked = {name: value for name, [value] in parse_qs(urlsplit(url).query).items()}

    assert asked.pop("code_challenge") not in ("", VERIFIER)
    assert asked == {
        "tenant": "lab",
        "response_type": "code",
        "client_id": CLIENT_ID,
        "redirect_uri": BACK,
        "scope": "openid email profile",
        "state": "the-state",
        "nonce": "the-nonce",
        "code_challenge_method": "S256",
    }


def test_whoever_was_refused_may_choose_another_account(evil: Evil) -> None:
    async def story() -> str:
        async with provider_of(evil) as provider:
            return await provider.sign_in_url(
                state="s", nonce="n", verifier=VERIFIER, redirect_uri=BACK, another=True
            )

    assert parse_qs(urlsplit(asyncio.run(story())).query)["prompt"] == ["login"]
    assert prompt_for_another("https://accounts.google.com") == "select_account"


def test_a_stolen_code_is_worth_nothing_without_its_verifier(evil: Evil) -> None:
    assert refusal(evil, redeemed_with="another-verifier-of-forty-three-characters-") == (
        "code-refused"
    )


def test_a_code_is_taken_once(evil: Evil) -> None:
    async def story() -> None:
        async with provider_of(evil) as provider:
            code = await granted(evil, provider)
            await redeem(provider, code)
            await redeem(provider, code)

    assert code_of(story) == "code-refused"


def test_a_client_that_the_provider_does_not_know_is_told_apart_from_a_bad_code(
    evil: Evil,
) -> None:
    async def story() -> None:
        async with provider_of(evil, client_secret="expired") as provider:
            await redeem(provider, await granted(evil, provider))

    assert code_of(story) == "client-refused"


def test_the_secret_is_shown_as_the_provider_takes_it(evil: Evil) -> None:
    offered = "token_endpoint_auth_methods_supported"
    assert signed_in(evil).email == "ana@lab.example"

    evil.discovery[offered] = ["client_secret_post", "client_secret_basic"]
    assert signed_in(evil).email == "ana@lab.example"

    evil.discovery[offered] = ["private_key_jwt", "client_secret_post"]
    evil.client = ("client_secret_post", CLIENT_ID, CLIENT_SECRET)
    assert signed_in(evil).email == "ana@lab.example"


def test_an_application_without_a_secret_only_says_its_name(evil: Evil) -> None:
    async def story() -> Claims:
        async with provider_of(evil, client_secret="") as provider:
            return await redeem(provider, await granted(evil, provider))

    evil.client = ("none", CLIENT_ID, "")

    assert asyncio.run(story()).email == "ana@lab.example"


@pytest.mark.parametrize("said", ["https://accounts.evil.example", None, 7])
def test_a_provider_that_describes_another_issuer_is_refused(evil: Evil, said: object) -> None:
    evil.discovery["issuer"] = said

    assert refusal(evil) == "bad-issuer"


def test_every_organisation_at_once_is_refused_with_how_to_name_one(evil: Evil) -> None:
    evil.discovery["issuer"] = "https://login.microsoftonline.com/{tenantid}/v2.0"

    error = refused(evil)

    assert error.code == "bad-issuer"
    assert "https://login.microsoftonline.com/TENANT-ID/v2.0" in error.hint


@pytest.mark.parametrize(
    "issuer",
    [
        *("http://accounts.lab.example", "accounts.lab.example", "", "ftp://lab.example"),
        *("https://", "https://lab.example?a=b", "https://lab.example#a", "http://127.0.0.1.evil"),
        *(
            "https://ana:secret@lab.example",
            "http://localhost.evil.example",
            "http://10.0.0.1",
            "https://[::1",
        ),
    ],
)
def test_an_issuer_is_reached_over_https_or_on_this_machine(issuer: str) -> None:
    with pytest.raises(Invalid, match="https"):
        provider_at(issuer, ManualClock(NOON))


@pytest.mark.parametrize("issuer", ["https://lab.example", "http://[::1]:80", "http://localhost"])
def test_an_issuer_may_be_on_this_machine(issuer: str) -> None:
    assert provider_at(issuer, ManualClock(NOON)).name == "Meridian SSO"


@pytest.mark.parametrize("address", ["http://lab.example/x", "http://127.0.0.1/x", "x", 7, None])
@pytest.mark.parametrize("endpoint", ["token_endpoint", "jwks_uri", "authorization_endpoint"])
def test_a_provider_over_https_names_no_address_that_is_less_safe(
    endpoint: str, address: object
) -> None:
    issuer = "https://lab.example"
    named = ("authorization_endpoint", "token_endpoint", "jwks_uri")
    document = {"issuer": issuer, **dict.fromkeys(named, f"{issuer}/x"), endpoint: address}

    with pytest.raises(Unreachable, match=endpoint):
        understand(document, issuer=issuer, name="Meridian SSO")


def test_a_provider_is_asked_who_it_is_once_an_hour_however_many_come(
    evil: Evil, clock: ManualClock
) -> None:
    async def story() -> None:
        async with provider_of(evil) as provider:
            await asyncio.gather(*(granted(evil, provider) for _ in range(20)))
            assert evil.asked[DISCOVERY] == 1
            clock.advance(timedelta(hours=1))
            await granted(evil, provider)
            assert evil.asked[DISCOVERY] == 2

    asyncio.run(story())


def test_a_provider_that_is_down_is_unreachable_and_signing_out_goes_on(
    clock: ManualClock,
) -> None:
    async def story() -> None:
        evil = Evil(clock)
        async with evil.listening():
            pass
        provider = provider_at(evil.issuer, clock)
        with pytest.raises(Unreachable, match="nobody listens there"):
            await granted(evil, provider)
        assert await provider.sign_out_url(id_token="a.b.c", back_to=BACK) == ""
        await provider.close()

    asyncio.run(story())


def test_a_provider_that_never_answers_is_waited_for_so_long_and_no_longer() -> None:
    async def story(port: int) -> None:
        line = Line("Meridian SSO", patience=0.05)
        try:
            with pytest.raises(Unreachable, match="it does not answer"):
                await line.get(f"http://127.0.0.1:{port}/keys")
        finally:
            await line.close()

    with socket.create_server(("127.0.0.1", 0)) as listening_and_no_more:
        asyncio.run(story(listening_and_no_more.getsockname()[1]))


@pytest.mark.parametrize("path", [DISCOVERY, "/keys", "/token", "/userinfo"])
@pytest.mark.parametrize(
    "answer",
    [
        lambda: web.Response(text="<html>Please log in to the network", content_type="text/html"),
        lambda: web.Response(status=503, text="{}"),
        lambda: web.json_response(["a", "list"]),
        lambda: web.Response(body=b'{"sub": "' + b"x" * 2_000_000 + b'"}'),
        lambda: web.Response(body=b'{"keys": "\xff"}'),
    ],
    ids=["page", "overloaded", "list", "endless", "garbled"],
)
def test_an_answer_that_makes_no_sense_is_not_a_wrong_sign_in(
    evil: Evil, path: str, answer: Callable[[], web.Response]
) -> None:
    evil.answers[path] = answer
    evil.claims["groups"] = None

    with pytest.raises(Unreachable) as unreachable:
        signed_in(evil)

    assert unreachable.value.hint
    assert "Meridian SSO" in unreachable.value.detail


def test_nobody_is_sent_on_with_our_secret(evil: Evil) -> None:
    elsewhere = {"Location": "/elsewhere"}
    evil.answers["/token"] = lambda: web.Response(status=307, text="{}", headers=elsewhere)

    assert refusal(evil) == "code-refused"
    assert evil.asked["/elsewhere"] == 0


def test_a_provider_leaves_no_cookie_for_the_next_person(evil: Evil) -> None:
    signed_in(evil)

    assert evil.asked["/token"] == 1
    assert evil.cookies_carried == set()


def test_signing_out_goes_to_the_provider_too_if_it_offers_that(evil: Evil) -> None:
    async def story() -> str:
        async with provider_of(evil) as provider:
            return await provider.sign_out_url(id_token="a.b.c", back_to="https://x/signed-out")

    assert asyncio.run(story()) == ""

    evil.discovery["end_session_endpoint"] = "https://lab.example/end?tenant=lab"
    asked = parse_qs(urlsplit(asyncio.run(story())).query)

    assert asked == {
        "tenant": ["lab"],
        "id_token_hint": ["a.b.c"],
        "client_id": [CLIENT_ID],
        "post_logout_redirect_uri": ["https://x/signed-out"],
    }

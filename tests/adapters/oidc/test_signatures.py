"""Which signatures are believed, and what a changed or unknown key does."""

import asyncio
import base64
import hmac
from datetime import timedelta
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey
from joserfc.jws import JWSRegistry

from clusterra.adapters.memory import ManualClock
from clusterra.core.errors import Unauthenticated
from tests.adapters.oidc.stage import (
    code_of,
    granted,
    part,
    provider_of,
    redeem,
    refusal,
    signed_in,
)
from tests.provider.evil import Evil, key

pytestmark = pytest.mark.enable_socket


def test_an_unsigned_token_is_refused_though_the_provider_announces_them(evil: Evil) -> None:
    evil.make = lambda claims: f"{part({'alg': 'none'})}.{part(claims)}."

    assert refusal(evil) == "bad-algorithm"


def test_the_public_key_does_not_do_as_a_shared_secret(evil: Evil) -> None:
    public = evil.key
    assert isinstance(public, RSAKey)
    secret = public.as_pem(private=False)

    def make(claims: dict[str, Any]) -> str:
        # By hand: joserfc will not even sign so.
        said = f"{part({'alg': 'HS256', 'kid': 'first'})}.{part(claims)}"
        signature = hmac.digest(secret, said.encode(), "sha256")
        return f"{said}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"

    evil.make = make

    assert refusal(evil) == "bad-algorithm"


def test_a_shared_secret_is_not_believed_though_it_is_published(
    evil: Evil,
) -> None:
    shared = OctKey.generate_key(256, {"kid": "shared"})
    evil.published.append(dict(shared.as_dict(private=True)))
    evil.make = lambda claims: jwt.encode({"alg": "HS256", "kid": "shared"}, claims, shared)

    assert refusal(evil) == "bad-algorithm"


def test_an_algorithm_that_the_provider_does_not_announce_is_refused(evil: Evil) -> None:
    evil.algorithm = "RS512"

    assert refusal(evil) == "bad-algorithm"


@pytest.mark.parametrize(
    ("algorithm", "kind"),
    [("PS256", "RSA"), ("ES256", "EC"), ("EdDSA", "OKP"), ("Ed25519", "OKP")],
)
@pytest.mark.filterwarnings("ignore:EdDSA is deprecated")  # by joserfc, to whom signs with it
def test_what_providers_sign_with_today_is_taken(evil: Evil, algorithm: str, kind: str) -> None:
    evil.algorithm, evil.key = algorithm, key("modern", kind)
    evil.published = [dict(evil.key.as_dict(private=False))]
    evil.discovery["id_token_signing_alg_values_supported"] = [algorithm]
    evil.claims["at_hash"] = None

    assert signed_in(evil).email == "ana@lab.example"


def test_a_provider_that_only_announces_shared_secrets_is_not_believed(evil: Evil) -> None:
    evil.discovery["id_token_signing_alg_values_supported"] = ["HS256"]

    assert refusal(evil) == "bad-algorithm"


def test_a_key_of_the_same_name_is_not_the_key(evil: Evil) -> None:
    evil.key = RSAKey.generate_key(2048, {"kid": "first"})

    assert refusal(evil) == "bad-signature"


def test_claims_changed_after_signing_are_refused(evil: Evil) -> None:
    def make(claims: dict[str, Any]) -> str:
        header, _, signature = evil.signed(claims).split(".")
        return f"{header}.{part({**claims, 'email': 'boss@lab.example'})}.{signature}"

    evil.make = make

    assert refusal(evil) == "bad-signature"


@pytest.mark.parametrize("token", ["", "x", "a.b.c", "a.b.c.d.e", "..", "é.é.é"])
def test_what_is_no_token_is_refused(evil: Evil, token: str) -> None:
    evil.make = lambda _: token

    assert refusal(evil) == "bad-token"


def test_a_header_that_means_nothing_to_us_is_no_reason_to_refuse(evil: Evil) -> None:
    header = {"alg": "RS256", "kid": "first", "x-vendor": "yes"}
    anything = JWSRegistry(strict_check_header=False)
    evil.make = lambda claims: jwt.encode(header, claims, evil.key, registry=anything)

    assert signed_in(evil).email == "ana@lab.example"


def test_a_token_need_not_name_its_key_where_there_is_only_one_to_sign_with(evil: Evil) -> None:
    evil.make = lambda claims: jwt.encode({"alg": "RS256"}, claims, evil.key)
    evil.published += [
        {**key("for-encryption").as_dict(private=False), "use": "enc"},
        dict(OctKey.generate_key(256, {"kid": "shared"}).as_dict(private=True)),
    ]
    assert signed_in(evil).email == "ana@lab.example"

    evil.published.append(dict(key("second").as_dict(private=False)))
    assert refusal(evil) == "bad-signature"


def test_a_rotated_key_is_found_at_once(evil: Evil) -> None:
    async def story() -> None:
        async with provider_of(evil) as provider:
            await redeem(provider, await granted(evil, provider))
            evil.key = key("second")
            evil.published = [dict(evil.key.as_dict(private=False)), *evil.published]
            await redeem(provider, await granted(evil, provider))

    asyncio.run(story())

    assert evil.asked["/keys"] == 2


def test_keys_that_nobody_has_make_us_ask_once_a_minute(evil: Evil, clock: ManualClock) -> None:
    async def story() -> None:
        async with provider_of(evil) as provider:
            for nth in range(12):
                evil.key = key(f"garbage-{nth % 2}")
                with pytest.raises(Unauthenticated) as refused:
                    await redeem(provider, await granted(evil, provider))
                assert refused.value.code == "bad-signature"
                clock.advance(timedelta(seconds=10))

    asyncio.run(story())

    assert evil.asked["/keys"] == 3  # to know them, and in each of the two minutes


def test_a_withdrawn_key_is_believed_for_an_hour_and_no_longer(
    evil: Evil, clock: ManualClock
) -> None:
    async def story() -> None:
        async with provider_of(evil) as provider:
            await redeem(provider, await granted(evil, provider))
            evil.published = [dict(key("second").as_dict(private=False))]
            clock.advance(timedelta(minutes=59))
            await redeem(provider, await granted(evil, provider))
            clock.advance(timedelta(minutes=1))
            await redeem(provider, await granted(evil, provider))

    assert code_of(story) == "bad-signature"


def test_a_key_we_cannot_read_does_not_hide_the_others(evil: Evil) -> None:
    evil.published = [{"kty": "PQ", "kid": "x"}, {"kty": "RSA", "n": "?"}, {}, *evil.published]

    assert signed_in(evil).email == "ana@lab.example"

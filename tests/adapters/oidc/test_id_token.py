"""Which ID tokens are believed, and why others are not."""

from typing import Any

import pytest

from tests.adapters.oidc.stage import NOON, refusal, signed_in
from tests.provider.evil import CLIENT_ID, Evil

pytestmark = pytest.mark.enable_socket


@pytest.mark.parametrize("nonce", ["of-another-sign-in", "", None, 7])
def test_the_answer_to_another_sign_in_is_refused(evil: Evil, nonce: object) -> None:
    evil.claims["nonce"] = nonce

    assert refusal(evil) == "bad-nonce"


def test_a_token_without_a_nonce_is_refused_even_where_none_was_expected(evil: Evil) -> None:
    evil.claims["nonce"] = ""

    assert refusal(evil, nonce="") == "bad-nonce"


@pytest.mark.parametrize(
    "claims",
    [
        {"aud": "another"},
        {"aud": None},
        {"aud": []},
        {"aud": ["another", "third"], "azp": CLIENT_ID},
        {"aud": [CLIENT_ID, "another"]},
        {"aud": [CLIENT_ID, "another"], "azp": "another"},
        {"aud": CLIENT_ID, "azp": "another"},
        {"aud": {CLIENT_ID: True}},
    ],
)
def test_a_token_for_another_application_is_refused(evil: Evil, claims: dict[str, Any]) -> None:
    evil.claims = claims

    assert refusal(evil) == "bad-audience"


def test_a_token_for_several_applications_is_taken_if_it_was_ours_to_ask(evil: Evil) -> None:
    evil.claims = {"aud": ["another", CLIENT_ID], "azp": CLIENT_ID}

    assert signed_in(evil).email == "ana@lab.example"


@pytest.mark.parametrize("issuer", ["https://accounts.evil.example", None, ["a list"]])
def test_a_token_of_another_issuer_is_refused(evil: Evil, issuer: object) -> None:
    evil.claims["iss"] = issuer

    assert refusal(evil) == "bad-issuer"


@pytest.mark.parametrize("subject", [None, "", 7])
def test_a_token_about_nobody_is_refused(evil: Evil, subject: object) -> None:
    evil.claims["sub"] = subject

    assert refusal(evil) == "no-subject"


@pytest.mark.parametrize("at_hash", ["AAAAAAAAAAAAAAAAAAAAAA", "", 7])
def test_a_token_that_came_with_another_access_token_is_refused(
    evil: Evil, at_hash: object
) -> None:
    evil.claims["at_hash"] = at_hash

    assert refusal(evil) == "bad-access-token"


def test_providers_need_not_hash_the_access_token(evil: Evil) -> None:
    evil.claims["at_hash"] = None

    assert signed_in(evil).email == "ana@lab.example"


def test_a_token_ends_a_minute_after_it_says_and_not_before(evil: Evil) -> None:
    evil.claims["exp"] = NOON.timestamp() - 59
    assert signed_in(evil).email == "ana@lab.example"

    evil.claims["exp"] = NOON.timestamp() - 60
    assert refusal(evil) == "token-expired"


@pytest.mark.parametrize("claim", ["iat", "nbf"])
def test_a_token_begins_a_minute_before_it_says_and_not_earlier(evil: Evil, claim: str) -> None:
    evil.claims = {"nbf": NOON.timestamp(), claim: NOON.timestamp() + 60}
    assert signed_in(evil).email == "ana@lab.example"

    evil.claims[claim] = NOON.timestamp() + 61
    assert refusal(evil) == "token-from-the-future"


@pytest.mark.parametrize("moment", [None, "tomorrow", True, float("inf"), float("nan"), [1]])
@pytest.mark.parametrize("claim", ["exp", "iat"])
def test_a_token_without_its_times_is_refused(evil: Evil, claim: str, moment: object) -> None:
    evil.claims[claim] = moment

    assert refusal(evil) == "bad-token"

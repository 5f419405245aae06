"""Who somebody is taken for, and whose address counts."""

import pytest

from clusterra.adapters.oidc.person import person
from clusterra.core.errors import Unauthenticated
from tests.adapters.oidc.stage import refusal, signed_in
from tests.provider.evil import Evil

pytestmark = pytest.mark.enable_socket


def test_a_person_is_who_the_provider_says(evil: Evil) -> None:
    claims = signed_in(evil)

    assert (claims.issuer, claims.subject) == (evil.issuer, "248289761001")
    assert (claims.email, claims.name) == ("ana@lab.example", "Ana")
    assert claims.groups == ("hpc-admins", "staff")
    assert claims.id_token.count(".") == 2


@pytest.mark.parametrize("verified", [False, "false", None, 0, "no", [True]])
def test_an_address_that_nobody_verified_is_refused(evil: Evil, verified: object) -> None:
    evil.claims["email_verified"] = verified
    evil.userinfo = {"sub": "248289761001"}

    assert refusal(evil) == "email-not-verified"


@pytest.mark.parametrize("email", [None, "", 7])
def test_somebody_without_an_address_is_refused(evil: Evil, email: object) -> None:
    evil.claims["email"] = email
    evil.userinfo = {"sub": "248289761001"}

    assert refusal(evil) == "no-email"


def test_a_yes_in_quotes_is_a_yes(evil: Evil) -> None:
    evil.claims["email_verified"] = "true"

    assert signed_in(evil).email == "ana@lab.example"


@pytest.mark.parametrize("owned", [True, 1, "1", "true"])
def test_entra_says_in_its_own_words_that_an_address_is_verified(evil: Evil, owned: object) -> None:
    evil.claims |= {"email_verified": None, "xms_edov": owned}
    assert signed_in(evil).email == "ana@lab.example"


def test_entra_saying_no_is_a_no_and_so_is_a_provider_that_says_both(evil: Evil) -> None:
    evil.claims |= {"email_verified": None, "xms_edov": 0}
    assert refusal(evil) == "email-not-verified"

    evil.claims |= {"email_verified": False, "xms_edov": 1}
    assert refusal(evil) == "email-not-verified"


def test_a_name_that_looks_like_an_address_is_none(evil: Evil) -> None:
    evil.claims |= {"email": None, "preferred_username": "boss@lab.example", "xms_edov": 1}
    evil.userinfo = {"sub": "248289761001"}

    assert refusal(evil) == "no-email"


def test_google_answers_for_addresses_that_it_hosts_and_for_no_others() -> None:
    assert at_google(email="ana@lab.example", hd="lab.example") == "ana@lab.example"
    assert at_google(email="ana@gmail.com") == "ana@gmail.com"
    with pytest.raises(Unauthenticated, match=r"ana@lab\.example") as refused:
        at_google(email="ana@lab.example")
    assert refused.value.code == "email-not-verified"


def at_google(**claims: str) -> str:
    signed = {"iss": "https://accounts.google.com", "sub": "1", "email_verified": True, **claims}
    return person(signed, {}, provider="Google", groups_claim="", id_token="a.b.c").email


def test_what_the_token_leaves_out_is_asked_for(evil: Evil) -> None:
    evil.claims |= {"email": None, "email_verified": None, "name": None, "groups": None}
    evil.userinfo = {
        "sub": "248289761001",
        "email": "ana@lab.example",
        "email_verified": True,
        "name": "Ana",
        "groups": "staff",
    }

    claims = signed_in(evil)

    assert (claims.email, claims.name, claims.groups) == ("ana@lab.example", "Ana", ("staff",))


def test_what_the_token_has_is_not_asked_for_again(evil: Evil) -> None:
    signed_in(evil)

    assert evil.asked["/userinfo"] == 0


def test_what_is_said_about_somebody_else_is_refused(evil: Evil) -> None:
    evil.claims["email"] = None
    evil.userinfo = {"sub": "another", "email": "boss@lab.example", "email_verified": True}

    assert refusal(evil) == "bad-subject"


def test_one_address_is_not_verified_by_what_is_said_about_another(evil: Evil) -> None:
    evil.claims |= {"email": "boss@lab.example", "email_verified": None}
    evil.userinfo = {"sub": "248289761001", "email_verified": True}

    assert refusal(evil) == "email-not-verified"


def test_an_address_that_the_token_calls_unverified_is_not_saved_by_another_word(
    evil: Evil,
) -> None:
    evil.claims |= {"email_verified": False, "groups": None}
    evil.userinfo = {
        "sub": "248289761001",
        "groups": [],
        "email": "ana@lab.example",
        "email_verified": True,
    }

    assert refusal(evil) == "email-not-verified"


def test_groups_that_were_left_out_are_not_taken_for_none(evil: Evil) -> None:
    evil.claims |= {"groups": None, "_claim_names": {"groups": "src1"}}

    assert refusal(evil) == "groups-left-out"


@pytest.mark.parametrize("groups", [7, {"a": 1}, [1, None, ""], []])
def test_groups_in_another_form_are_none(evil: Evil, groups: object) -> None:
    evil.claims["groups"] = groups

    assert signed_in(evil).groups == ()

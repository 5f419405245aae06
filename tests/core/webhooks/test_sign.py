"""Signing as Standard Webhooks has it."""

import base64
import hashlib
import hmac
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterra.core.errors import Invalid
from clusterra.core.webhooks.sign import (
    public_text,
    read_public,
    read_secret,
    secret_from,
    signed_headers,
)

NOON = datetime(2026, 5, 14, 12, 0, tzinfo=UTC)
OLD, NEW = secret_from(bytes(range(32))), secret_from(bytes(range(32, 64)))
BODY = b'{"type":"job.failed","data":{"name":"align \xc3\xa9"}}'


def test_what_is_signed_is_the_id_the_seconds_and_the_body_as_it_is() -> None:
    headers = signed_headers("evt-1", NOON, BODY, [OLD])

    right = hmac.new(bytes(range(32)), b"evt-1.1778760000." + BODY, hashlib.sha256).digest()
    assert headers == {
        "webhook-id": "evt-1",
        "webhook-timestamp": "1778760000",
        "webhook-signature": f"v1,{base64.b64encode(right).decode()}",
    }


def test_every_live_secret_signs_the_newest_first_and_the_public_key_last() -> None:
    signed = []

    def ed25519(content: bytes) -> bytes:
        signed.append(content)
        return bytes(64)

    both = signed_headers("evt-1", NOON, BODY, [NEW, OLD], ed25519)["webhook-signature"]

    each = [signed_headers("evt-1", NOON, BODY, [one])["webhook-signature"] for one in (NEW, OLD)]
    assert both.split(" ") == [*each, f"v1a,{base64.b64encode(bytes(64)).decode()}"]
    assert signed == [b"evt-1.1778760000." + BODY]


@given(st.integers(-14 * 60, 14 * 60), st.integers(0, 999_999))
def test_the_same_moment_in_another_zone_is_signed_the_same(minutes: int, micros: int) -> None:
    here = NOON + timedelta(microseconds=micros)
    there = here.astimezone(timezone(timedelta(minutes=minutes)))

    assert signed_headers("e", there, BODY, [OLD]) == signed_headers("e", here, BODY, [OLD])


def test_a_moment_of_no_zone_is_not_guessed_at() -> None:
    with pytest.raises(ValueError, match="zone"):
        signed_headers("e", NOON.replace(tzinfo=None), BODY, [OLD])


@given(st.binary(min_size=32, max_size=32))
def test_a_secret_is_read_back_with_its_prefix_and_without(entropy: bytes) -> None:
    secret = secret_from(entropy)

    assert secret.startswith("whsec_")
    assert len(secret) == len("whsec_") + 44
    spellings = (secret, secret.removeprefix("whsec_"), secret.rstrip("="), f" {secret}\n")
    assert {read_secret(each) for each in spellings} == {entropy}
    assert signed_headers("e", NOON, b"", [secret]) == signed_headers("e", NOON, b"", [entropy])


def test_too_little_chance_makes_no_secret() -> None:
    with pytest.raises(ValueError, match="31"):
        secret_from(bytes(31))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "holds 0 bytes"),
        ("whsec_", "holds 0 bytes"),
        ("whsec_not base64!", "not base64"),
        (OLD[:20], "bytes"),
        ("whsec_" + base64.b64encode(bytes(23)).decode(), "holds 23 bytes"),
        ("whsec_" + base64.b64encode(bytes(65)).decode(), "holds 65 bytes"),
        ("whpk_" + base64.b64encode(bytes(32)).decode(), "not base64"),
        ("whsec_é", "not base64"),
    ],
)
def test_what_is_no_secret_is_refused_without_being_repeated(text: str, words: str) -> None:
    with pytest.raises(Invalid, match=words) as refused:
        read_secret(text)

    assert refused.value.hint
    assert len(text) < 8 or text not in refused.value.detail


def test_a_public_key_is_shown_as_receivers_expect_it() -> None:
    assert read_public(public_text(bytes(range(32)))) == bytes(range(32))
    for wrong in ("whpk_", OLD, "whpk_AAAA", "whpk_é"):
        with pytest.raises(Invalid, match="public key"):
            read_public(wrong)

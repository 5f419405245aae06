"""Why a signature is wrong, in words, and the right one first."""

import base64
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from clusterra.core.webhooks.sign import public_text, secret_from, signed_headers
from clusterra.core.webhooks.verify import Verdict, explain, read_headers

NOON = datetime(2026, 5, 14, 12, 0, tzinfo=UTC)
SECRET, OTHER = secret_from(bytes(range(32))), secret_from(bytes(range(32, 64)))
BODY = '{"id":"evt-1","type":"job.failed","data":{"name":"align é","cost":1.5}}'.encode()
PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC = public_text(PRIVATE.public_key().public_bytes_raw())
MINUTES = timedelta(minutes=5)


def signed(body: bytes = BODY, *secrets: str, at: datetime = NOON) -> dict[str, str]:
    return signed_headers("evt-1", at, body, secrets or [SECRET])


def judged(headers: dict[str, str] | str, body: bytes = BODY, *secrets: str) -> Verdict:
    return explain(headers, body, secrets or [SECRET], NOON, MINUTES)


def test_a_right_one_says_when_it_was_signed_and_with_what() -> None:
    verdict = judged(signed(at=NOON - timedelta(seconds=3)))

    assert verdict == Verdict(
        ok=True,
        says=f"The signature is right: signed 3 s ago with the secret that ends in {SECRET[-5:-1]}.",
    )


def test_either_secret_of_two_is_enough_on_either_side() -> None:
    assert judged(signed(BODY, OTHER, SECRET)).ok
    assert judged(signed(BODY, SECRET), BODY, OTHER, SECRET).ok


@pytest.mark.parametrize("name", ["webhook-id", "webhook-timestamp", "webhook-signature"])
def test_a_missing_header_is_named(name: str) -> None:
    headers = signed()
    for left in ({}, {name: ""}, {name.replace("webhook", "svix"): "x"}):
        verdict = judged({key: value for key, value in headers.items() if key != name} | left)

        assert (verdict.reason, verdict.says) == ("missing", f"The header {name} is missing.")
    assert "svix-" in verdict.hint


@pytest.mark.parametrize("text", ["noon", "1.5", "-3", "٣", "9" * 40])
def test_a_timestamp_that_is_no_number_is_shown(text: str) -> None:
    verdict = judged(signed() | {"webhook-timestamp": text})

    assert verdict.reason == "timestamp"
    assert text in verdict.says


def test_skew_is_told_in_seconds_with_the_side_that_is_ahead() -> None:
    assert judged(signed(at=NOON - MINUTES)).ok
    assert judged(signed(at=NOON + MINUTES)).ok

    old = judged(signed(at=NOON - MINUTES - timedelta(seconds=1)))
    new = judged(signed(at=NOON + MINUTES + timedelta(seconds=1)))

    assert (old.reason, new.reason) == ("skew", "skew")
    assert old.says.startswith("It was signed 301 seconds ago; the most is 300 seconds. This clock")
    assert "301 seconds in the future" in new.says
    assert "sender's clock is ahead" in new.says
    assert old.says.endswith("Its signature is right.")


def test_an_old_request_with_a_wrong_secret_is_not_called_right() -> None:
    verdict = explain(signed(at=NOON - timedelta(days=1)), BODY, [OTHER], NOON, MINUTES)

    assert verdict.reason == "skew"
    assert "is right" not in verdict.says


@pytest.mark.parametrize("text", ["garbage", "v1", "v1,", ",AAAA", "v1,AAAA v1", "v1,A*", "v1,é"])
def test_a_signature_header_that_cannot_be_read_is_told_so(text: str) -> None:
    assert judged(signed() | {"webhook-signature": text}).reason == "malformed"


def test_versions_that_nobody_knows_are_named() -> None:
    verdict = judged(signed() | {"webhook-signature": "v2,AAAA v9,AAAA"})

    assert verdict.reason == "no-v1"
    assert "only v2, v9" in verdict.says


def test_a_secret_that_is_none_is_told_so() -> None:
    assert judged(signed(), BODY, "whsec_oops").reason == "secret"
    assert judged(signed(), BODY, "whpk_oops").reason == "secret"


@pytest.mark.parametrize(
    ("spoiled", "words"),
    [
        (lambda body: body + b"\n", "line break at its end left out"),
        (lambda body: json.dumps(json.loads(body)).encode(), "without spaces"),
        (lambda body: json.dumps(json.loads(body), indent=2).encode(), "without spaces"),
        (lambda body: json.dumps(json.loads(body), indent=4).encode() + b"\r\n", "without spaces"),
        (lambda body: b"\xef\xbb\xbf" + body, "BOM"),
    ],
)
def test_a_body_that_was_written_again_is_recognised(
    spoiled: Callable[[bytes], bytes], words: str
) -> None:
    verdict = judged(signed(), spoiled(BODY))

    assert verdict.reason == "body"
    assert words in verdict.says
    assert "before anything parses" in verdict.hint


@pytest.mark.parametrize(
    "sent",
    [
        json.dumps(json.loads(BODY)).encode(),
        json.dumps(json.loads(BODY), indent=2, ensure_ascii=False).encode(),
        json.dumps(json.loads(BODY), sort_keys=True, separators=(",", ":")).encode(),
        BODY + b"\n",
        b'{"a":1}\n{"b":2}',
    ],
)
def test_so_is_one_that_was_sent_in_another_form(sent: bytes) -> None:
    got = BODY if sent[:3] != b'{"a' else sent.replace(b"\n", b"\r\n")

    assert judged(signed(sent), got).reason == "body"


def test_a_wrong_secret_is_known_by_its_last_characters() -> None:
    verdict = judged(signed(), BODY, OTHER)

    assert verdict.reason == "mismatch"
    assert f"…{OTHER[-5:-1]};" in verdict.says
    assert OTHER[6:20] not in verdict.says


def test_a_changed_body_fits_nothing() -> None:
    assert judged(signed(), BODY.replace(b"1.5", b"0.5")).reason == "mismatch"
    assert judged(signed(), b"").reason == "mismatch"
    assert judged(signed() | {"webhook-id": "evt-2"}).reason == "mismatch"


def test_a_public_key_is_enough_and_is_asked_for() -> None:
    headers = signed_headers("evt-1", NOON, BODY, [], PRIVATE.sign)

    right = judged(headers, BODY, PUBLIC)
    unknown = judged(headers, BODY, SECRET)
    changed = judged(headers, BODY + b" ", PUBLIC)

    assert right.ok
    assert "public half" in right.says
    assert unknown.reason == "v1a-only"
    assert "whpk_" in unknown.hint
    assert changed.reason == "body"
    assert judged(headers, b"other", PUBLIC).reason == "mismatch"


def test_headers_are_read_as_they_are_printed() -> None:
    printed = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" + "".join(
        f"{name.title()}:  {value} \r\n" for name, value in signed().items()
    )
    verbose = "".join(f"> {name}: {value}\n" for name, value in signed().items())

    assert judged(printed + "\r\n").ok
    assert judged("> POST /hook HTTP/1.1\n" + verbose).ok
    assert read_headers("nothing\n\n: x") == {}


@given(st.text(), st.binary(), st.lists(st.text(), max_size=2))
def test_nothing_that_arrives_makes_it_stumble(text: str, body: bytes, secrets: list[str]) -> None:
    explain(text, body, secrets, NOON, MINUTES)
    explain(signed() | {"webhook-signature": text}, body, secrets, NOON, MINUTES)
    explain(signed() | {"webhook-id": text or "x"}, body, [SECRET], NOON, MINUTES)


@given(st.binary(max_size=200), st.integers(0, 255), st.integers(0, 255))
def test_no_flipped_byte_gets_through(body: bytes, place: int, flip: int) -> None:
    signature = bytearray(base64.b64decode(signed(body)["webhook-signature"][3:]))
    signature[place % 32] ^= flip or 1
    changed = signed(body) | {
        "webhook-signature": "v1," + base64.b64encode(bytes(signature)).decode()
    }

    assert judged(signed(body), body).ok
    assert not judged(changed, body).ok

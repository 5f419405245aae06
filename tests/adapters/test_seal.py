"""What we give out and know again: nobody else can make it, change it, or keep it alive."""

import base64
import json
import stat
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from joserfc import jwt
from joserfc.jwk import OctKey

from clusterra.adapters.memory import ManualClock
from clusterra.adapters.seal import SealKey, open_seal_key
from clusterra.core.errors import Invalid, Unauthenticated
from tests.builders import NOON

KEY = bytes(range(32))
QUARTER = timedelta(minutes=15)


def a_seal(clock: ManualClock | None = None, key: bytes = KEY) -> SealKey:
    return SealKey(key, clock=clock or ManualClock(NOON))


def sealed(key: bytes = KEY) -> str:
    return a_seal(key=key).seal("access", {"sid": "ses_1"}, until=NOON + QUARTER)


def code_of(seal: SealKey, text: str, kind: str = "access") -> str:
    with pytest.raises(Unauthenticated) as refused:
        seal.opened(kind, text)
    return refused.value.code


def part(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def written(header: object, claims: object, signature: str = "") -> str:
    return ".".join(
        (part(json.dumps(header).encode()), part(json.dumps(claims).encode()), signature)
    )


GOOD_FOR_EVER = {"sid": "ses_1", "exp": 9_999_999_999}


def test_what_was_sealed_comes_back_as_it_was() -> None:
    assert a_seal().opened("access", sealed()) == {"sid": "ses_1"}


def test_it_is_good_until_its_moment_and_not_at_it() -> None:
    clock = ManualClock(NOON)
    seal = a_seal(clock)

    clock.advance(QUARTER - timedelta(seconds=1))
    assert seal.opened("access", sealed())
    clock.advance(timedelta(seconds=1))
    assert code_of(seal, sealed()) == "token-expired"


def test_what_was_checked_before_expires_all_the_same() -> None:
    clock = ManualClock(NOON)
    seal, text = a_seal(clock), sealed()
    for _ in range(3):
        seal.opened("access", text)

    clock.advance(QUARTER)

    assert code_of(seal, text) == "token-expired"


def test_one_kind_is_not_taken_for_another_whether_it_was_seen_before_or_not() -> None:
    seal, text = a_seal(), sealed()

    assert code_of(seal, text, "refresh") == "bad-token"
    seal.opened("access", text)
    assert code_of(seal, text, "refresh") == "bad-token"


def test_what_another_key_signed_is_not_ours() -> None:
    assert code_of(a_seal(), sealed(key=bytes(32))) == "bad-token"


@pytest.mark.parametrize("alg", ["none", "None", "NONE", ""])
def test_what_nobody_signed_is_not_ours(alg: str) -> None:
    unsigned = written({"alg": alg, "typ": "access"}, GOOD_FOR_EVER)

    assert code_of(a_seal(), unsigned) == "bad-token"


def test_a_good_signature_under_another_algorithm_is_not_taken() -> None:
    other = jwt.encode(
        {"alg": "HS512", "typ": "access"},
        GOOD_FOR_EVER,
        OctKey.import_key(KEY),
        algorithms=["HS512"],
    )

    assert code_of(a_seal(), other) == "bad-token"


def test_changed_content_breaks_the_seal() -> None:
    header, _, signature = sealed().split(".")
    forged = ".".join((header, part(json.dumps(GOOD_FOR_EVER).encode()), signature))

    assert code_of(a_seal(), forged) == "bad-token"


@pytest.mark.parametrize(
    "claims", [{"sid": "ses_1"}, {"exp": "tomorrow"}, {"exp": None}, {"exp": [1]}]
)
def test_without_an_end_it_is_not_taken_even_with_our_signature(claims: dict[str, object]) -> None:
    text = jwt.encode({"alg": "HS256", "typ": "access"}, claims, OctKey.import_key(KEY))

    assert code_of(a_seal(), text) == "bad-token"


def test_without_a_kind_it_is_not_taken_even_with_our_signature() -> None:
    text = jwt.encode({"alg": "HS256"}, GOOD_FOR_EVER, OctKey.import_key(KEY))

    assert code_of(a_seal(), text) == "bad-token"


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "..",
        "....",
        "a.b.c",
        "\ud800.a.b",
        "é.ü.ß",
        written([], {}, "x"),
        written(1, {}, "x"),
        written(None, {}, "x"),
        written({"alg": 1}, {}, "x"),
        written({"alg": ["HS256"]}, {}, "x"),
        written({"alg": "HS256", "crit": ["exp"]}, {}, "x"),
        written({"alg": "HS256", "kid": {}}, {}, "x"),
        f"{part(b'[' * 400)}.e30.x",
        f"{part(b'[' * 100_000)}.e30.x",
        "a" * 1_000_000,
        f"{'a' * 1_000_000}.e30.x",
        "." * 100_000,
    ],
    ids=lambda text: f"{len(text)} characters",
)
def test_garbage_of_any_length_is_refused_as_not_ours(text: str) -> None:
    assert code_of(a_seal(), text) == "bad-token"


@given(
    st.text()
    | st.lists(st.binary(), min_size=3, max_size=3).map(lambda parts: ".".join(map(part, parts)))
)
def test_nothing_that_is_made_up_opens(text: str) -> None:
    assert code_of(a_seal(), text) == "bad-token"


@given(st.integers(0, 10_000), st.characters(codec="ascii"))
def test_one_character_that_is_changed_breaks_it(where: int, other: str) -> None:
    text = sealed()
    where %= text.rindex(".")
    if text[where] == other:
        return

    assert code_of(a_seal(), text[:where] + other + text[where + 1 :]) == "bad-token"


def test_the_key_is_made_once_and_only_the_server_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "session.key"

    key = open_seal_key(path)

    assert open_seal_key(path) == key
    assert len(key) == 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_key_that_was_half_made_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / ".session.key.new").write_bytes(b"half")

    assert len(open_seal_key(tmp_path / "session.key")) == 32


def test_a_short_key_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "session.key"
    path.write_bytes(b"short")

    with pytest.raises(Invalid, match="5 bytes, not 32") as refused:
        open_seal_key(path)
    assert "Delete it" in refused.value.hint


def test_a_key_that_cannot_be_made_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="cannot be read or made"):
        open_seal_key(tmp_path / "nowhere" / "session.key")

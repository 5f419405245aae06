"""Checkpoints can be read by what was made for transparency logs, and signatures by anybody."""

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from hypothesis import given
from hypothesis import strategies as st

from clusterra.adapters.ledger_key import LedgerKey
from clusterra.core.events.checkpoint import (
    Checkpoint,
    Key,
    Unreadable,
    read_key,
    read_note,
    read_secret,
    write_note,
    write_secret,
)
from clusterra.core.events.ed25519 import ORDER, is_signed
from tests.builders import NOON

# The example of Go's package golang.org/x/mod/sumdb/note: its key, its text, its signature.
GO_KEY = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
GO_TEXT = (
    "If you think cryptography is the answer to your problem,\n"
    "then you don't know what your problem is.\n"
)
GO_SIGNATURE = (
    "x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM="
)

RFC_8032 = [
    (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        (
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555"
            "fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
        ),
    ),
    (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        (
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da0"
            "85ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
        ),
    ),
    (
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        (
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac1"
            "8ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"
        ),
    ),
]


def test_a_key_and_a_signature_of_gos_note_package_are_understood() -> None:
    import base64

    key = read_key(GO_KEY)
    assert str(key) == GO_KEY
    raw = base64.b64decode(GO_SIGNATURE)
    assert raw[:4] == key.hash
    assert is_signed(GO_TEXT.encode(), raw[4:], key.public)


@pytest.mark.parametrize(("public", "message", "signature"), RFC_8032)
def test_the_signatures_of_the_rfc_are_right(public: str, message: str, signature: str) -> None:
    key, text, signed = (bytes.fromhex(each) for each in (public, message, signature))

    assert is_signed(text, signed, key)
    assert not is_signed(text + b"!", signed, key)
    assert not is_signed(text, signed, bytes(32))


@given(st.binary(min_size=32, max_size=32), st.binary(max_size=64), st.integers(0, 511))
def test_a_signature_is_right_exactly_when_the_library_says_so(
    seed: bytes, message: bytes, bit: int
) -> None:
    signer = LedgerKey(seed)
    good = signer.sign(message)
    bad = (int.from_bytes(good, "big") ^ 1 << bit).to_bytes(64, "big")

    assert is_signed(message, good, signer.public)
    assert is_signed(message, bad, signer.public) is _library(message, bad, signer.public)


def _library(message: bytes, signature: bytes, public: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except InvalidSignature:
        return False
    return True


def test_a_signature_has_one_spelling_and_one_length() -> None:
    signer = LedgerKey(bytes(32))
    good = signer.sign(b"x")
    larger = int.from_bytes(good[32:], "little") + ORDER
    assert not is_signed(b"x", good[:32] + larger.to_bytes(32, "little"), signer.public)
    assert not is_signed(b"x", good[:63], signer.public)
    assert not is_signed(b"x", good + b"\0", signer.public)
    assert not is_signed(b"x", good, signer.public[:31])
    assert not is_signed(b"x", good, b"\xff" * 32)


def test_a_checkpoint_is_written_as_c2sp_says_and_read_back() -> None:
    signer = LedgerKey(bytes(32))
    key = Key(name="clusterra/clus1a2b", public=signer.public)
    checkpoint = Checkpoint(origin="clusterra/clus1a2b", size=41, root=bytes(32), at=NOON)

    note = write_note(checkpoint, key, signer.sign)

    origin, size, root, time, blank, signature, end = note.split("\n")
    assert (origin, size) == ("clusterra/clus1a2b", "41")
    assert root == "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
    assert (time, blank, end) == ("time 2026-03-02T12:00:00Z", "", "")
    assert signature.startswith("— clusterra/clus1a2b ")
    read = read_note(note)
    assert read.checkpoint == checkpoint
    assert read.is_by(key)
    assert not read.is_by(Key(name="clusterra/other", public=signer.public))


@pytest.mark.parametrize(
    "note",
    [
        "",
        "a\n1\n",
        "a\n1\nAAAA\n\n— a AAAA\n",
        "a\n01\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n\n— a AAAA\n",
        "a\n-1\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n\n— a AAAA\n",
        "a\n1\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB=\n\n— a AAAA\n",
        "a\n1\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n\n- a AAAA\n",
        "a\n1\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n\n— a !\n",
        "a\n1\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n\n— a AAAA",
    ],
)
def test_what_is_no_checkpoint_is_called_that(note: str) -> None:
    with pytest.raises(Unreadable):
        read_note(note)


def test_a_private_key_comes_back_from_its_spelling() -> None:
    seed = bytes(range(32))
    text = write_secret("clusterra", seed, LedgerKey(seed).public)
    assert text.startswith("PRIVATE+KEY+clusterra+")
    assert read_secret(text) == seed
    with pytest.raises(Unreadable):
        read_secret("PRIVATE+KEY+clusterra+00000000+AAAA")
    with pytest.raises(Unreadable):
        read_secret("hello")

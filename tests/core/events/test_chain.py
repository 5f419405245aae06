"""The tree is RFC 6962's, and the chain is what the module says it is."""

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterra.core.events.chain import START, Growing, Head, leaf, link, roots


def merkle_tree_hash(leaves: list[bytes]) -> bytes:
    """RFC 6962, section 2.1, word by word."""
    if not leaves:
        return sha256(b"").digest()
    if len(leaves) == 1:
        return sha256(b"\x00" + leaves[0]).digest()
    k = 1
    while k * 2 < len(leaves):
        k *= 2
    return sha256(b"\x01" + merkle_tree_hash(leaves[:k]) + merkle_tree_hash(leaves[k:])).digest()


@given(st.lists(st.binary(max_size=9), max_size=70))
def test_the_root_is_the_merkle_tree_hash_and_the_chain_links_every_event(
    bodies: list[bytes],
) -> None:
    growing, chain = Growing(Head()), START
    for number, body in enumerate(bodies, start=1):
        chain = link(chain, number, leaf(body))
        assert growing.add(body) == chain

    head = growing.head()
    assert head.root == merkle_tree_hash(bodies)
    assert (head.size, head.chain) == (len(bodies), chain)
    assert len(head.peaks) == head.size.bit_count()


@given(st.lists(st.binary(max_size=3), max_size=40), st.integers(0, 40), st.data())
def test_roots_are_found_at_any_size_from_any_head(
    bodies: list[bytes], start: int, data: st.DataObject
) -> None:
    start = min(start, len(bodies))
    growing = Growing(Head())
    for body in bodies[:start]:
        growing.add(body)
    sizes = data.draw(st.sets(st.integers(start, len(bodies) + 2)))

    found = roots(growing.head(), map(leaf, bodies[start:]), sizes)

    assert found == {size: merkle_tree_hash(bodies[:size]) for size in sizes if size <= len(bodies)}


EXPECTED_ROOT = "5aac771c899ac292e74bf1afe2e6e302f8b55883b2d1bf197b46a6bea6dabca9"
EXPECTED_CHAIN = "ce7031aa06b6ee334a6c92e54707cca6253c5b4e0b272e03eabde4364579b244"


def test_a_known_ledger_hashes_to_what_it_always_did() -> None:
    growing = Growing(Head())
    for body in (b"one", b"two", b"three"):
        growing.add(body)

    # Made with sha256sum and xxd, not with this code.
    assert growing.head().root.hex() == EXPECTED_ROOT
    assert growing.chain.hex() == EXPECTED_CHAIN


@pytest.mark.parametrize("size", [0, 1, 2, 3, 255, 256])
def test_a_head_keeps_one_peak_for_each_set_bit(size: int) -> None:
    growing = Growing(Head())
    for number in range(size):
        growing.add(b"%d" % number)
    assert len(growing.head().peaks) == size.bit_count()

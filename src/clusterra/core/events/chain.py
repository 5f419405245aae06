"""What makes a ledger tamper-evident: a hash chain and a Merkle tree over its bytes.

The chain is local and cheap: it names the first event that is not what it was.
It does not stop somebody who hashes everything anew; the tree's root, signed
and kept elsewhere (`checkpoint`), does. Both are kept up to date in the
transaction that appends.

    leaf  h(i) = SHA-256(0x00 ‖ body)                        RFC 6962
    chain c(i) = SHA-256("evt1" ‖ c(i−1) ‖ u64 i ‖ h(i))     c(0) = 32 zero bytes
    root       = RFC 6962's Merkle tree hash over the leaves
"""

import hashlib
from dataclasses import dataclass

START = bytes(32)
"""The chain before the first event."""

SIZE = 32


def leaf(body: bytes) -> bytes:
    return hashlib.sha256(b"\x00" + body).digest()


def link(before: bytes, seq: int, leaf: bytes) -> bytes:
    return hashlib.sha256(b"evt1" + before + seq.to_bytes(8, "big") + leaf).digest()


def _pair(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """How far a ledger reaches, and what it hashes to so far."""

    size: int = 0
    chain: bytes = START
    peaks: tuple[bytes, ...] = ()
    """Roots of the perfect subtrees, largest first: one per set bit of `size`."""

    @property
    def root(self) -> bytes:
        if not self.peaks:
            return hashlib.sha256(b"").digest()
        *rest, root = self.peaks
        for peak in reversed(rest):
            root = _pair(peak, root)
        return root


def extend(head: Head, body: bytes) -> Head:
    """Return the head after one more event."""
    seq = head.size + 1
    node = leaf(body)
    chain = link(head.chain, seq, node)
    peaks = list(head.peaks)
    size = head.size
    while size & 1:
        node = _pair(peaks.pop(), node)
        size >>= 1
    peaks.append(node)
    return Head(size=seq, chain=chain, peaks=tuple(peaks))

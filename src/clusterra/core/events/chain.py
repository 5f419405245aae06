"""What makes a ledger tamper-evident: a hash chain and a Merkle tree over its bytes.

The chain is local and cheap: it names the first event that is not what it was.
It does not stop somebody who hashes everything anew; the tree's root, signed
and kept elsewhere (`checkpoint`), does. Both are kept up to date in the
transaction that appends.

    leaf  h(i) = SHA-256(0x00 ‖ body)                        RFC 6962
    chain c(i) = SHA-256("evt1" ‖ c(i−1) ‖ u64 i ‖ h(i))     c(0) = 32 zero bytes
    root       = RFC 6962's Merkle tree hash over the leaves
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from hashlib import sha256

START = bytes(32)
"""The chain before the first event."""

SIZE = 32


def leaf(body: bytes) -> bytes:
    return sha256(b"\x00" + body).digest()


def link(before: bytes, seq: int, leaf: bytes) -> bytes:
    return sha256(b"evt1" + before + seq.to_bytes(8, "big") + leaf).digest()


def _pair(left: bytes, right: bytes) -> bytes:
    return sha256(b"\x01" + left + right).digest()


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
            return sha256(b"").digest()
        *rest, root = self.peaks
        for peak in reversed(rest):
            root = _pair(peak, root)
        return root


class Growing:
    """A head to which events are being added: one for a whole batch, as a `Head` each is dear."""

    __slots__ = ("_peaks", "chain", "size")

    def __init__(self, head: Head) -> None:
        self.size = head.size
        self.chain = head.chain
        self._peaks = list(head.peaks)

    def add(self, body: bytes) -> bytes:
        """Add one event and return the chain up to and with it."""
        # Written out, and not by `leaf`, `link` and `_pair`: calls are a third of the cost.
        size, peaks = self.size, self._peaks
        self.size = seq = size + 1
        node = sha256(b"\x00" + body).digest()
        self.chain = sha256(b"evt1" + self.chain + seq.to_bytes(8, "big") + node).digest()
        while size & 1:
            node = sha256(b"\x01" + peaks.pop() + node).digest()
            size >>= 1
        peaks.append(node)
        return self.chain

    def head(self) -> Head:
        return Head(size=self.size, chain=self.chain, peaks=tuple(self._peaks))


def roots(head: Head, leaves: Iterable[bytes], sizes: Collection[int]) -> dict[int, bytes]:
    """Return the Merkle roots at some sizes, from a head on, over the hashes of what follows."""
    found: dict[int, bytes] = {}
    peaks, size = list(head.peaks), head.size
    if size in sizes:
        found[size] = head.root
    for leaf in leaves:
        node, bits = leaf, size
        while bits & 1:
            node = sha256(b"\x01" + peaks.pop() + node).digest()
            bits >>= 1
        peaks.append(node)
        size += 1
        if size in sizes:
            found[size] = Head(size=size, peaks=tuple(peaks)).root
    return found

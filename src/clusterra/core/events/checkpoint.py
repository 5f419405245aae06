"""What is signed about a ledger: how far it reaches and what it hashes to, at a moment.

The text is a C2SP tlog-checkpoint in a C2SP signed note, the keys are spelled as in
Go's sumdb/note, so that witnesses and tools made for transparency logs can read them:

    clusterra/clus1a2b                                    the ledger's name
    41                                                    how many events
    qZ8…=                                                 the Merkle root over them
    time 2026-03-02T12:00:00Z                             when it was signed (an extension)

    — clusterra/clus1a2b Hk3…=                            the first four bytes name the key

Signing itself is behind the `Signer` port; checking is in `ed25519`.
"""

import base64
import binascii
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256

from clusterra.core.events.chain import SIZE
from clusterra.core.events.ed25519 import is_signed

ED25519 = b"\x01"
DASH = "— "

Sign = Callable[[bytes], bytes]
Check = Callable[[bytes, bytes, bytes], bool]
"""Whether a message was so signed by a public key."""


class Unreadable(ValueError):
    """This is not a checkpoint, a signed note or a key; the text says what is wrong with it."""


def origin_of(cluster: str) -> str:
    return f"clusterra/{cluster}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """The public half of a key, under the name it signs by."""

    name: str
    public: bytes

    @property
    def hash(self) -> bytes:
        return _hash(self.name, self.public)

    def __str__(self) -> str:
        return f"{self.name}+{self.hash.hex()}+{_spell(ED25519 + self.public)}"


def read_key(text: str) -> Key:
    name, _, rest = text.strip().partition("+")
    hash, _, spelled = rest.partition("+")
    raw = _bytes(spelled, "a key")
    if raw[:1] != ED25519 or len(raw) != 33:
        raise Unreadable("It is not an Ed25519 key.")
    key = Key(name=name, public=raw[1:])
    if not name or key.hash.hex() != hash:
        raise Unreadable("The key's hash is not that of its name and its bytes.")
    return key


def write_secret(name: str, seed: bytes, public: bytes) -> str:
    return f"PRIVATE+KEY+{name}+{_hash(name, public).hex()}+{_spell(ED25519 + seed)}"


def read_secret(text: str) -> bytes:
    """Return the seed that a private key is made of."""
    if not text.startswith("PRIVATE+KEY+") or text.count("+") < 4:
        raise Unreadable("It does not begin with PRIVATE+KEY+.")
    raw = _bytes(text.strip().split("+", 4)[4], "a private key")
    if raw[:1] != ED25519 or len(raw) != 33:
        raise Unreadable("It is not an Ed25519 key.")
    return raw[1:]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    origin: str
    size: int
    root: bytes
    at: datetime | None = None
    """When it was signed, as the signer says."""

    @property
    def text(self) -> str:
        when = "" if self.at is None else f"time {self.at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}\n"
        return f"{self.origin}\n{self.size}\n{_spell(self.root)}\n{when}"

    @property
    def when(self) -> str:
        return (
            "at a time it does not say"
            if self.at is None
            else f"on {self.at:%Y-%m-%d %H:%M:%S} UTC"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A checkpoint and the signatures under it."""

    checkpoint: Checkpoint
    text: str
    """The bytes that were signed, as they came."""

    signatures: tuple[tuple[str, bytes, bytes], ...]
    """Name, key hash, signature."""

    whole: str
    """Text and signatures, as they came."""

    def names(self, key: Key) -> bool:
        """Say whether a signature claims to be this key's."""
        return any((name, hash) == (key.name, key.hash) for name, hash, _ in self.signatures)

    def is_by(self, key: Key, check: Check = is_signed) -> bool:
        return any(
            (name, hash) == (key.name, key.hash)
            and check(self.text.encode(), signature, key.public)
            for name, hash, signature in self.signatures
        )


def write_note(checkpoint: Checkpoint, key: Key, sign: Sign) -> str:
    text = checkpoint.text
    return f"{text}\n{DASH}{key.name} {_spell(key.hash + sign(text.encode()))}\n"


def read_note(note: str) -> Note:
    text, blank, tail = note.rpartition("\n\n")
    if not blank or not tail.endswith("\n"):
        raise Unreadable("It has no signature.")
    text += "\n"
    signatures = tuple(_signature(line) for line in tail.removesuffix("\n").split("\n"))
    return Note(checkpoint=_checkpoint(text), text=text, signatures=signatures, whole=note)


def _checkpoint(text: str) -> Checkpoint:
    origin, *rest = text.removesuffix("\n").split("\n")
    if not origin or len(rest) < 2:
        raise Unreadable("A checkpoint has a name, a size and a root.")
    size, root, *more = rest
    if not (size.isascii() and size.isdecimal()) or (size != "0" and size[0] == "0"):
        raise Unreadable(f"{size!r} is not the size of a ledger.")
    raw = _bytes(root, "a root")
    if len(raw) != SIZE:
        raise Unreadable(f"A root has {SIZE} bytes; this one has {len(raw)}.")
    return Checkpoint(origin=origin, size=int(size), root=raw, at=_time(more))


def _time(lines: list[str]) -> datetime | None:
    for line in lines:
        if line.startswith("time "):
            try:
                return datetime.fromisoformat(line[5:])
            except ValueError:
                return None
    return None


def _signature(line: str) -> tuple[str, bytes, bytes]:
    name, _, spelled = line.removeprefix(DASH).partition(" ")
    if not line.startswith(DASH) or not name:
        raise Unreadable("A line of its signature is not one.")
    raw = _bytes(spelled, "a signature")
    return name, raw[:4], raw[4:]


def _hash(name: str, public: bytes) -> bytes:
    return sha256(name.encode() + b"\n" + ED25519 + public).digest()[:4]


def _spell(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def _bytes(text: str, what: str) -> bytes:
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    if not raw or _spell(raw) != text:  # one spelling only: bits of the last digit may be unused
        raise Unreadable(f"{text[:60]!r} is not {what}.")
    return raw

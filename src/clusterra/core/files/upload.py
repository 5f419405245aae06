"""A large file that comes in parts, and is resumed by whoever began it."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from clusterra.core.change import Kind
from clusterra.core.errors import Invalid, TooLarge
from clusterra.core.files.place import Location, Place

LARGEST = 5 << 40
"""Bytes of one file: the most S3 takes."""

MIB = 1 << 20
LEAST_PART = 16 * MIB
MOST_PARTS = 9_000
"""S3 takes 10,000."""

LEFT_FOR = timedelta(days=7)
"""How long an upload that nobody completes is waited for."""

_HEX = frozenset("0123456789abcdef")


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    cluster: str
    by: str
    """E-mail of whoever began it; nobody else goes on with it."""

    location: Location
    path: str
    owner: str
    size: int
    part_size: int
    sha256: str
    content_type: str
    native: str
    """What the store calls it."""

    at: datetime

    @property
    def place(self) -> Place:
        return Place(location=self.location, path=self.path, owner=self.owner)

    @property
    def count(self) -> int:
        return -(-self.size // self.part_size)

    @property
    def expires_at(self) -> datetime:
        return self.at + LEFT_FOR

    def size_of(self, number: int) -> int:
        """Return how long a part is; the last one is what is left. Raises Invalid."""
        if not 1 <= number <= self.count:
            raise Invalid(
                f"This upload has {self.count} parts, and {number} is none of them.",
                hint=f"Number them from 1; each has {self.part_size:,} bytes, the last what is left.",
                code="wrong-part",
                at="parts",
            )
        return min(self.part_size, self.size - (number - 1) * self.part_size)

    def numbers(self) -> Iterator[int]:
        return iter(range(1, self.count + 1))


UPLOAD: Kind[Upload] = Kind("upload", Upload)


def part_size_of(size: int) -> int:
    """Return how large the parts of a file of this size are: whole MiB, and not too many."""
    least = -(-size // MOST_PARTS)
    return max(LEAST_PART, -(-least // MIB) * MIB)


def check_size(size: int) -> None:
    if size < 0:
        raise Invalid("A file cannot have fewer than 0 bytes.", hint="Send its size.", at="size")
    if size > LARGEST:
        raise TooLarge(
            f"The file has {size:,} bytes, and 5 TiB is the most.",
            hint="Split it, and have the job put it together.",
            at="size",
        )


def check_sha256(text: str, *, at: str = "sha256") -> str:
    """Return a checksum in its one spelling."""
    digest = text.lower()
    if len(digest) != 64 or not _HEX.issuperset(digest):
        raise Invalid(
            "A sha256 is 64 hexadecimal digits.",
            hint="`sha256sum FILE` prints it.",
            code="bad-checksum",
            at=at,
        )
    return digest


def check_content_type(text: str) -> str:
    if not text:
        return "application/octet-stream"
    if len(text) > 127 or not text.isascii() or not text.isprintable() or "/" not in text:
        raise Invalid(
            "This is not a content type.",
            hint="Write it as text/csv, or leave it out.",
            at="content_type",
        )
    return text

"""Check an Ed25519 signature (RFC 8032) with nothing but arithmetic.

A laptop that verifies an export has no cryptography library, and needs none: what is
checked here is public, so nothing has to be hidden from whoever measures the time.
Signing is not here for the same reason turned around.

The multiples of the base point and of a key are looked up in tables of sixteen for
each four bits. Making a table costs as much as one check without it.
"""

from functools import lru_cache
from hashlib import sha512

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
ROOT_OF_MINUS_ONE = pow(2, (P - 1) // 4, P)

Point = tuple[int, int, int, int]
"""Extended coordinates: x = X/Z, y = Y/Z, xy = T/Z."""

Table = list[list[Point]]

ZERO: Point = (0, 1, 1, 0)


def is_signed(message: bytes, signature: bytes, public: bytes) -> bool:
    """Say whether whoever holds the private half of `public` signed exactly this message."""
    point = _table_of(public)
    if point is None or len(signature) != 64:
        return False
    nonce, s = signature[:32], int.from_bytes(signature[32:], "little")
    if s >= ORDER:  # the same signature in another spelling
        return False
    challenge = int.from_bytes(sha512(nonce + public + message).digest(), "little") % ORDER
    # s·B − k·A, compared as it is spelled: the cofactorless equation, as OpenSSL has it.
    sum = _add(_times(s, _base()), _times(ORDER - challenge, point))
    return _spell(sum) == nonce


def _add(a: Point, b: Point) -> Point:
    one = (a[1] - a[0]) * (b[1] - b[0]) % P
    two = (a[1] + a[0]) * (b[1] + b[0]) % P
    three = 2 * a[3] * b[3] * D % P
    four = 2 * a[2] * b[2] % P
    e, f, g, h = two - one, four - three, four + three, two + one
    return e * f % P, g * h % P, f * g % P, e * h % P


def _times(number: int, table: Table) -> Point:
    sum = ZERO
    for multiples in table:
        if digit := number & 15:
            sum = _add(sum, multiples[digit])
        number >>= 4
    return sum


def _tabulate(point: Point) -> Table:
    table = []
    for _ in range(64):
        multiples = [ZERO]
        for _ in range(15):
            multiples.append(_add(multiples[-1], point))
        table.append(multiples)
        point = _add(multiples[-1], point)
    return table


@lru_cache(1)
def _base() -> Table:
    base = _read((4 * pow(5, -1, P) % P).to_bytes(32, "little"))
    assert base is not None
    return _tabulate(base)


@lru_cache(8)
def _table_of(public: bytes) -> Table | None:
    point = _read(public)
    return None if point is None else _tabulate(point)


def _read(spelled: bytes) -> Point | None:
    """Return the point that 32 bytes spell, if they spell one."""
    if len(spelled) != 32:
        return None
    number = int.from_bytes(spelled, "little")
    odd, y = number >> 255, number & (2**255 - 1)
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * ROOT_OF_MINUS_ONE % P
    if (x * x - square) % P or (x == 0 and odd):
        return None
    if x & 1 != odd:
        x = P - x
    return x, y, 1, x * y % P


def _spell(point: Point) -> bytes:
    inverse = pow(point[2], -1, P)
    x, y = point[0] * inverse % P, point[1] * inverse % P
    return (y | (x & 1) << 255).to_bytes(32, "little")

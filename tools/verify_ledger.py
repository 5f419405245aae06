"""Verify an export of a ledger with nothing but Python: verify_ledger.py FILE [PUBLIC KEY].

Written apart from Clusterra's own verifier, and agreeing with it on every export. Exits
with 0 if the ledger is intact, 1 if it was tampered with, 2 if something is missing.
"""

import json
import sys
from base64 import b64decode, b64encode
from hashlib import sha256, sha512
from pathlib import Path
from typing import Any

P, ORDER = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
Point = tuple[int, int, int, int]
WRONG = (ValueError, KeyError, TypeError, AttributeError, IndexError)


def require(right: object, otherwise: str) -> None:
    if not right:
        raise ValueError(otherwise)


def add(a: Point, b: Point) -> Point:
    minus, plus = (a[1] - a[0]) * (b[1] - b[0]), (a[1] + a[0]) * (b[1] + b[0])
    t, z = 2 * D * a[3] * b[3], 2 * a[2] * b[2]
    e, f, g, h = plus - minus, z - t, z + t, plus + minus
    return e * f % P, g * h % P, f * g % P, e * h % P


def times(n: int, point: Point) -> Point:
    total = (0, 1, 1, 0)
    for bit in f"{n:b}":
        total = add(total, total)
        total = add(total, point) if bit == "1" else total
    return total


def point_of(raw: bytes) -> Point:
    y = int.from_bytes(raw, "little") & (2**255 - 1)
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    x = x if x * x % P == square else x * pow(2, (P - 1) // 4, P) % P
    require(x * x % P == square and y < P, "Its key is not one.")
    x = x if x & 1 == raw[31] >> 7 else P - x
    return x, y, 1, x * y % P


def is_signed(text: bytes, signature: bytes, public: bytes) -> bool:
    base = point_of((4 * pow(5, -1, P) % P).to_bytes(32, "little"))
    s = int.from_bytes(signature[32:], "little")
    k = int.from_bytes(sha512(signature[:32] + public + text).digest(), "little") % ORDER
    x, y, z, _ = add(times(s % ORDER, base), times(ORDER - k, point_of(public)))
    x, y = x * pow(z, -1, P) % P, y * pow(z, -1, P) % P
    return s < ORDER and (y | (x & 1) << 255).to_bytes(32, "little") == signature[:32]


def unspell(text: str) -> bytes:
    raw = b64decode(text, validate=True)
    require(b64encode(raw).decode() == text, "It is not base64.")
    return raw


def signed_root(said: dict[str, str], header: dict[str, Any]) -> tuple[int, bytes]:
    """Return the size and the root of a checkpoint, if the ledger's key has signed it."""
    text, _, signatures = said["checkpoint"].rpartition("\n\n")
    name, size, root, *_ = text.split("\n")
    signer, key_hash, spelled = header["key"].split("+", 2)
    key = unspell(spelled)
    require(sha256(signer.encode() + b"\n" + key).digest()[:4].hex() == key_hash, "Not a key.")
    for line in signatures.removesuffix("\n").split("\n"):
        dash, who, signature = line.split(" ")
        ours = (dash, who, unspell(signature)[:4].hex()) == ("—", signer, key_hash)
        if ours and is_signed(f"{text}\n".encode(), unspell(signature)[4:], key[1:]):
            require(name == header["origin"], "A checkpoint is of another ledger.")
            return int(size), unspell(root)
    raise ValueError(f"The checkpoint of {size} events is not signed by the ledger's key.")


def root_of(peaks: list[bytes]) -> bytes:
    root = peaks[-1] if peaks else sha256(b"").digest()
    for peak in reversed(peaks[:-1]):
        root = sha256(b"\x01" + peak + root).digest()
    return root


def is_cut(line: bytes) -> bool:
    try:
        return json.loads(line) is None
    except ValueError:
        return True


def verify(header: dict[str, Any], lines: list[bytes]) -> list[str]:
    """Return what is missing; raise one of WRONG if what is there is not what was signed."""
    require(header["origin"] == f"clusterra/{header['cluster']}", "It has another name.")
    chain, peaks = bytes.fromhex(header["chain"]), [*map(bytes.fromhex, header["peaks"])]
    last, end, gaps = header["last"], header["first"] - 1, []
    covered, signed = end, {end: root_of(peaks)}
    if lines and lines[-1][:1] == b"{" and is_cut(lines[-1]):
        gaps.append(f"It breaks off within a checkpoint: {lines.pop()[:20]!r}")
    for line in [line for line in lines if line[:1] == b"{"]:
        size, root = signed_root(json.loads(line), header)
        require(signed.setdefault(size, root) == root, f"Two times {size} events were signed.")
    whole = True
    for line in [line for line in lines if line[:1] != b"{"]:
        number, node, size = end + 1, sha256(b"\x00" + line[65:]).digest(), end
        after = sha256(b"evt1" + chain + number.to_bytes(8, "big") + node).digest()
        if line[:65] != after.hex().encode() + b" ":
            if line is lines[-1] and number <= last and is_cut(line[65:]):
                break
            number, whole = int(json.loads(line[65:])["sequence"]), False
            require(number > end + 1, f"Event {number} is not what, or where, it was.")
            gaps.append(f"Events {end + 1} to {number - 1} are missing.")
        require(number <= last, f"After event {last}, the last, comes another.")
        chain, end = bytes.fromhex(line[:64].decode()), number
        while whole and size & 1:
            node, size = sha256(b"\x01" + peaks.pop() + node).digest(), size >> 1
        peaks.append(node)
        if whole and number in signed:
            require(root_of(peaks) == signed[number], f"Other events up to {number} were signed.")
            covered = number
    if end < max(last, *signed):
        gaps.append(f"The last event here is {end}, and there were more.")
    if covered < end:
        gaps.append(f"No signature covers events {covered + 1} to {end}.")
    return gaps


def main() -> int:
    first, *lines = Path(sys.argv[1]).read_bytes().removesuffix(b"\n").split(b"\n")
    try:
        header = json.loads(first)
        hashes = [bytes.fromhex(each) for each in (header["chain"], *header["peaks"])]
        require(header["format"] == "clusterra-ledger/1", "It is of another format.")
        require({*map(len, hashes)} == {32} and header["first"] > 0, "Its hashes are not any.")
        require(len(hashes) == 1 + (header["first"] - 1).bit_count(), "Some hashes are missing.")
        require(all(header[name] for name in ("cluster", "origin", "key")), "It has no name.")
        require(header["last"] >= 0, "It has no end.")
    except WRONG as error:
        print(f"It is not an export of a ledger. {error}")
        return 2
    try:
        require(header["key"] == (sys.argv[2:] or [header["key"]])[0], "It has another key.")
        missing = verify(header, lines)
    except WRONG as error:
        print(f"Tampered with. {error}")
        return 1
    print("\n".join(missing) or f"Intact: events {header['first']} to {header['last']}.")
    return 2 if missing else 0


if __name__ == "__main__":
    sys.exit(main())

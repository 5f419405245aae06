"""Slurm's host lists: `w1`, `w[1-3,7]`, `gpu-a[01-04],w9`."""

import re
from collections.abc import Iterator
from functools import lru_cache

MOST = 10_000
"""Names in a list; what comes after them is left out."""

_PART = re.compile(r"([^\[,]*)(?:\[([^\]]*)\])?([^,\[]*)(?:,|$)")


@lru_cache(maxsize=4096)
def expand(text: str) -> frozenset[str]:
    return frozenset(name for name, _ in zip(_names(text), range(MOST), strict=False))


def _names(text: str) -> Iterator[str]:
    for head, inside, tail in _PART.findall(text):
        if not inside:
            if head:
                yield head + tail
            continue
        for part in inside.split(","):
            first, _, last = part.partition("-")
            if not first.isdigit() or (last and not last.isdigit()):
                continue
            for number in range(int(first), int(last or first) + 1):
                yield f"{head}{number:0{len(first)}}{tail}"

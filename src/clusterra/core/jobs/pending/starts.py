"""How long workers took to come, read from the ledger."""

from collections.abc import Collection, Iterable
from datetime import datetime

from clusterra.core.jobs.pending.facts import Row

LAST = 50
"""Of each shape: what was long ago says little of today."""


def start_times(rows: Iterable[Row], shapes: Collection[str]) -> dict[str, tuple[float, ...]]:
    """Return the seconds from asking to being there, by shape, the oldest first.

    Who asked first is served first: the ledger does not say which worker came for which wish.
    """
    by_length = sorted(shapes, key=len, reverse=True)
    asked: dict[str, list[datetime]] = {}
    took: dict[str, list[float]] = {}
    for row in rows:
        if row.type == "fleet.resized":
            shape = str(row.data.get("shape", ""))
            change = _whole(row.data.get("after")) - _whole(row.data.get("before"))
            waiting = asked.setdefault(shape, [])
            if change > 0:
                waiting += [row.at] * change
            elif change < 0:
                # Fewer are wanted: the last ones asked for are not to come.
                del waiting[max(len(waiting) + change, 0) :]
        elif row.type == "node.registered":
            node = str(row.data.get("node", ""))
            shape = next((each for each in by_length if node.startswith(f"{each}-")), "")
            if asked.get(shape):
                took.setdefault(shape, []).append((row.at - asked[shape].pop(0)).total_seconds())
    return {shape: tuple(seconds[-LAST:]) for shape, seconds in took.items()}


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0

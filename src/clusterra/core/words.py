"""Numbers, times and lists as people read them."""

from collections.abc import Iterable
from datetime import timedelta


def count(number: int, noun: str) -> str:
    """Return `1 job`, `4 jobs`, `12,400 jobs`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def listed(names: Iterable[str], *, most: int | None = None) -> str:
    """Return `a`, `a and b`, `a, b, c and 4 more`; each name once."""
    known = list(dict.fromkeys(names))
    if most is not None and len(known) > most:
        return f"{', '.join(known[:most])} and {len(known) - most:,} more"
    return " and ".join([", ".join(known[:-1]), known[-1]] if len(known) > 1 else known)


def span(time: timedelta | float) -> str:
    """Return `31 s`, `2m 04s`, `1h 05m`, `3d 02h`."""
    seconds = time.total_seconds() if isinstance(time, timedelta) else time
    minutes, s = divmod(max(0, round(seconds)), 60)
    hours, m = divmod(minutes, 60)
    days, h = divmod(hours, 24)
    if days:
        return f"{days}d {h:02}h"
    if hours:
        return f"{hours}h {m:02}m"
    return f"{minutes}m {s:02}s" if minutes else f"{s} s"

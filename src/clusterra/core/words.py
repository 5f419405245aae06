"""Numbers and times as people read them."""

from datetime import timedelta


def count(number: int, noun: str) -> str:
    """Return `1 job`, `4 jobs`, `12,400 jobs`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


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

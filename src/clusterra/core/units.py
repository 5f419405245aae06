"""Memory and time as people and Slurm write them.

Slurm's own notations are read as sbatch reads them; beside those the notations
people type first (`8GiB`, `2h30m`) are understood. Two of Slurm's are not: a
time limit of `0` or `-1` means none there, and is a slip of the pen more often.
"""

import re
from datetime import timedelta
from fractions import Fraction

from clusterra.core.errors import Invalid
from clusterra.core.quote import shown

LARGEST = 2**31 - 1
"""The most of anything. Slurm counts in 32 bits and keeps the largest numbers for itself."""

_MEMORY = re.compile(r"(\d{1,30}(?:\.\d{1,30})?)\s*([kmgtp]?)(?:i?b)?", re.IGNORECASE | re.ASCII)
_MIB = {
    "k": Fraction(1, 1024),
    "": Fraction(1),
    "m": Fraction(1),
    "g": Fraction(1024),
    "t": Fraction(1024**2),
    "p": Fraction(1024**3),
}
_SPAN = re.compile(r"(\d{1,30}(?:\.\d{1,30})?)\s*([smhdw])", re.IGNORECASE | re.ASCII)
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_CLOCK = re.compile(r"(?:(\d{1,30})-)?(\d{1,30})(?::(\d{1,30}))?(?::(\d{1,30}))?", re.ASCII)
_UNLIMITED = {"unlimited", "infinite"}


def parse_memory_mib(text: str, *, at: str = "memory") -> int:
    """Read `4G`, `512M`, `1.5GiB`, `4000` (MiB, as Slurm has it) into MiB, rounded up."""
    match = _MEMORY.fullmatch(text.strip())
    if match is None:
        raise Invalid(
            f"{shown(text)} is not an amount of memory.",
            hint="Write a number with a unit, such as 4G or 512M; without a unit it means MiB.",
            at=at,
        )
    number, unit = match.groups()
    mib = _rounded_up(Fraction(number) * _MIB[unit.lower()])
    if mib > LARGEST:
        raise Invalid(
            f"{shown(text)} is more memory than Slurm can count ({LARGEST:,} MiB).",
            hint="Without a unit the number means MiB; write 4G for four GiB.",
            at=at,
        )
    return mib


def parse_duration(text: str, *, at: str = "time") -> timedelta:
    """Read `2h30m`, `45s`, `3d`."""
    clean = text.strip()
    spans = _SPAN.findall(clean)
    if not spans or _SPAN.sub("", clean).strip():
        raise Invalid(
            f"{shown(text)} is not a length of time.",
            hint="Write it as 90s, 30m, 2h, 3d or 2h30m.",
            at=at,
        )
    try:
        return timedelta(seconds=sum(float(n) * _SECONDS[unit.lower()] for n, unit in spans))
    except OverflowError:
        raise Invalid(
            f"{shown(text)} is longer than any time we can count with.",
            hint="Write a shorter time.",
            at=at,
        ) from None


def parse_time_limit(text: str, *, at: str = "time") -> int | None:
    """Read a time limit into minutes, rounded up; None is no limit.

    Slurm's notations: minutes, min:sec, h:min:sec, days-h, days-h:min, days-h:min:sec.
    """
    clean = text.strip().lower()
    if clean in _UNLIMITED:
        return None
    seconds: float | None = clock_seconds(clean)
    if seconds is None and _SPAN.search(clean):
        seconds = parse_duration(clean, at=at).total_seconds()
    if seconds is None or seconds <= 0:
        raise Invalid(
            f"{shown(text)} is not a time limit.",
            hint="Write minutes (90), h:mm:ss (1:30:00), days-h (2-12) or 90m, 2h30m, 3d; "
            "`unlimited` for none.",
            at=at,
        )
    minutes = _rounded_up(Fraction(seconds) / 60)
    if minutes > LARGEST:
        raise Invalid(
            f"{shown(text)} is longer than Slurm can count ({LARGEST:,} minutes).",
            hint="Write `unlimited` for no limit.",
            at=at,
        )
    return minutes


def clock_seconds(text: str) -> int | None:
    """Read one of Slurm's own notations of a length of time; None if it is none of them."""
    match = _CLOCK.fullmatch(text)
    if match is None:
        return None
    days, *clock = match.groups()
    numbers = [int(part) for part in clock if part is not None]
    if days is None and len(numbers) < 3:
        numbers.insert(0, 0)
    hours, minutes, seconds = (*numbers, 0, 0)[:3]
    return int(days or 0) * 86400 + hours * 3600 + minutes * 60 + seconds


def _rounded_up(number: Fraction) -> int:
    return -(-number.numerator // number.denominator)

"""Memory and time as people and Slurm write them.

Slurm's own notations are read exactly as sbatch reads them; beside those the
notations people type first (`8GiB`, `2h30m`) are understood.
"""

import re
from datetime import timedelta

from clusterra.core.errors import Invalid

_MEMORY = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgtp]?)(?:i?b)?", re.IGNORECASE)
_MIB = {"k": 1 / 1024, "": 1, "m": 1, "g": 1024, "t": 1024**2, "p": 1024**3}
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])", re.IGNORECASE)
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_UNLIMITED = {"unlimited", "infinite", "-1"}


def parse_memory_mib(text: str, *, at: str = "memory") -> int:
    """Read `4G`, `512M`, `1.5GiB`, `4000` (MiB, as Slurm has it) into MiB, rounded up."""
    match = _MEMORY.fullmatch(text.strip())
    if match is None:
        raise Invalid(
            f"{text!r} is not an amount of memory.",
            hint="Write a number with a unit, such as 4G or 512M; without a unit it means MiB.",
            at=at,
        )
    number, unit = match.groups()
    return -int(-float(number) * _MIB[unit.lower()] // 1)


def parse_duration(text: str, *, at: str = "time") -> timedelta:
    """Read `2h30m`, `45s`, `3d`."""
    clean = text.strip()
    spans = _SPAN.findall(clean)
    if not spans or _SPAN.sub("", clean).strip():
        raise Invalid(
            f"{text!r} is not a length of time.",
            hint="Write it as 90s, 30m, 2h, 3d or 2h30m.",
            at=at,
        )
    return timedelta(seconds=sum(float(n) * _SECONDS[unit.lower()] for n, unit in spans))


def parse_time_limit(text: str, *, at: str = "time") -> int | None:
    """Read a time limit into minutes, rounded up; None is no limit.

    Slurm's notations: minutes, min:sec, h:min:sec, days-h, days-h:min, days-h:min:sec.
    """
    clean = text.strip().lower()
    if clean in _UNLIMITED:
        return None
    seconds = _slurm_seconds(clean)
    if seconds is None and _SPAN.search(clean):
        seconds = parse_duration(clean, at=at).total_seconds()
    if seconds is None or seconds <= 0:
        raise Invalid(
            f"{text!r} is not a time limit.",
            hint="Write minutes (90), h:mm:ss (1:30:00), days-h (2-12) or 90m, 2h30m, 3d; "
            "`unlimited` for none.",
            at=at,
        )
    return -int(-seconds // 60)


def _slurm_seconds(text: str) -> float | None:
    days, dash, clock = text.rpartition("-")
    parts = clock.split(":")
    if not all(part.isdigit() for part in parts) or (dash and not days.isdigit()):
        return None
    numbers = [int(part) for part in parts]
    if dash:
        hours, minutes, seconds = (*numbers, 0, 0)[:3] if len(numbers) <= 3 else (0, 0, 0)
        return int(days) * 86400 + hours * 3600 + minutes * 60 + seconds
    match numbers:
        case [minutes]:
            return minutes * 60
        case [minutes, seconds]:
            return minutes * 60 + seconds
        case [hours, minutes, seconds]:
            return hours * 3600 + minutes * 60 + seconds
    return None

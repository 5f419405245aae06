"""When something is due that a line of cron describes: minute, hour, day, month, day of the week.

In UTC. As in every cron, a day is due if either the day of the month or the day of the week fits,
where both are given.
"""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

from clusterra.core.errors import Invalid
from clusterra.core.quote import shown

LEAST = timedelta(minutes=5)
"""Between two times that something is due."""

_RANGES = {"minute": (0, 59), "hour": (0, 23), "day": (1, 31), "month": (1, 12), "weekday": (0, 7)}
_PART = re.compile(r"(?:(\d{1,2})(?:-(\d{1,2}))?|\*)(?:/(\d{1,3}))?")
_FARTHEST = timedelta(days=366 * 9)
"""A 29th of February is at most eight years away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cron:
    minute: frozenset[int]
    hour: frozenset[int]
    day: frozenset[int]
    month: frozenset[int]
    weekday: frozenset[int]
    any_day: bool
    any_weekday: bool

    def after(self, moment: datetime) -> datetime:
        """Return when it is next due, later than that."""
        at = moment.replace(second=0, microsecond=0) + timedelta(minutes=1)
        until = moment + _FARTHEST
        while at < until:
            if at.month not in self.month or not self._on(at):
                at = at.replace(hour=0, minute=0) + timedelta(days=1)
            elif at.hour not in self.hour:
                at = at.replace(minute=0) + timedelta(hours=1)
            elif at.minute not in self.minute:
                at += timedelta(minutes=1)
            else:
                return at
        raise Invalid("It is never due: there is no such day.", hint="Mend the day or the month.")

    def _on(self, at: datetime) -> bool:
        by_day, by_weekday = at.day in self.day, at.isoweekday() % 7 in self.weekday
        if self.any_day or self.any_weekday:
            return by_day and by_weekday
        return by_day or by_weekday


def read_cron(text: str) -> Cron:
    """Read five fields. Raises Invalid."""
    fields = text.split()
    if len(fields) != 5:
        raise Invalid(
            f"A schedule has five fields, and {shown(text)} has {len(fields)}.",
            hint="Minute, hour, day, month, day of the week: `0 6 * * 1` is Mondays at six, UTC.",
            at="schedule",
        )
    found = {name: _values(name, each) for name, each in zip(_RANGES, fields, strict=True)}
    found["weekday"] = frozenset(day % 7 for day in found["weekday"])
    return Cron(**found, any_day=fields[2].startswith("*"), any_weekday=fields[4].startswith("*"))


def problem(text: str) -> str:
    """Say what is wrong with a schedule; nothing, if nothing is."""
    try:
        schedule = read_cron(text)
        begun = datetime(2026, 1, 1)  # noqa: DTZ001 - any day, in no zone
        first = schedule.after(begun)
        second = schedule.after(first)
    except Invalid as error:
        return f"cannot be: {error.detail}"
    gap = second - first
    for _ in range(60):
        first, second = second, schedule.after(second)
        gap = min(gap, second - first)
    if gap < LEAST:
        return f"comes every {gap.seconds // 60 or 1} min; the least is 5 min."
    return ""


def _values(name: str, field: str) -> frozenset[int]:
    least, most = _RANGES[name]
    found: set[int] = set()
    for part in field.split(","):
        match = _PART.fullmatch(part)
        if match is None:
            raise _wrong(name, part, least, most)
        first, last, step = match.groups()
        low = least if first is None else int(first)
        high = most if first is None or (step and not last) else int(last or first)
        if not least <= low <= high <= most or step == "0":
            raise _wrong(name, part, least, most)
        found.update(range(low, high + 1, int(step or 1)))
    return frozenset(found)


def _wrong(name: str, part: str, least: int, most: int) -> Invalid:
    return Invalid(
        f"The {name} of a schedule cannot be {shown(part)}.",
        hint=f"Write a number from {least} to {most}, a range, a list, or * with /step.",
        at="schedule",
    )

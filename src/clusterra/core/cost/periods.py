"""Days and months as people have them: in their own time zone.

A day has 23 or 25 hours when the clocks are changed, and a month begins at another moment in
Mumbai than in Boston. Everything that is counted is counted in UTC; only here is it known
where a day of somebody's begins.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from clusterra.core.errors import Invalid
from clusterra.core.quote import shown

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_MONTH = re.compile(r"\d{4}-\d{2}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    name: str
    """`2026-11`, `2026-11-16`, or both ends of anything else."""

    since: datetime
    until: datetime
    """In UTC; the end is no part of it."""

    def __contains__(self, moment: datetime) -> bool:
        return self.since <= moment < self.until


def zone(name: str) -> ZoneInfo:
    """Return a time zone by its name, as `Europe/Berlin`."""
    try:
        return ZoneInfo(name or "UTC")
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise Invalid(
            f"There is no time zone {shown(name)}.",
            hint="Say one as Europe/Berlin, Asia/Kolkata or UTC.",
            at="tz",
            code="unknown-time-zone",
        ) from None


def month_of(moment: datetime, zone: ZoneInfo) -> Period:
    here = moment.astimezone(zone)
    return _month(here.year, here.month, zone)


def day_of(moment: datetime, zone: ZoneInfo) -> Period:
    return _day(moment.astimezone(zone).date(), zone)


def named(text: str, zone: ZoneInfo) -> Period:
    """Return the month `2026-11` or the day `2026-11-16` of that name."""
    try:
        if _MONTH.fullmatch(text):
            return _month(int(text[:4]), int(text[5:]), zone)
        if _DAY.fullmatch(text):
            return _day(date.fromisoformat(text), zone)
    except (ValueError, OverflowError):
        pass
    raise Invalid(
        f"{shown(text)} is no month and no day.",
        hint="Write 2026-11 or 2026-11-16.",
        at="period",
        code="bad-period",
    )


def spanning(since: datetime, until: datetime) -> Period:
    """Return a period of any length."""
    if since >= until:
        raise Invalid("The period ends before it begins.", hint="Say an earlier since.", at="since")
    return Period(
        name=f"{since.isoformat()}/{until.isoformat()}",
        since=since.astimezone(UTC),
        until=until.astimezone(UTC),
    )


def days(period: Period, zone: ZoneInfo) -> Iterator[Period]:
    """Yield the days of a period; the first and the last may be cut short by it."""
    day = day_of(period.since, zone)
    while day.since < period.until:
        yield _clipped(day, period)
        day = day_of(day.until, zone)


def months(period: Period, zone: ZoneInfo) -> Iterator[Period]:
    """Yield the months of a period; the first and the last may be cut short by it."""
    month = month_of(period.since, zone)
    while month.since < period.until:
        yield _clipped(month, period)
        month = month_of(month.until, zone)


def _clipped(period: Period, by: Period) -> Period:
    return Period(
        name=period.name,
        since=max(period.since, by.since),
        until=min(period.until, by.until),
    )


def _month(year: int, month: int, zone: ZoneInfo) -> Period:
    first = date(year, month, 1)
    after = date(year + month // 12, month % 12 + 1, 1)
    return Period(
        name=f"{year:04}-{month:02}", since=_midnight(first, zone), until=_midnight(after, zone)
    )


def _day(day: date, zone: ZoneInfo) -> Period:
    return Period(
        name=day.isoformat(),
        since=_midnight(day, zone),
        until=_midnight(day + timedelta(days=1), zone),
    )


def _midnight(day: date, zone: ZoneInfo) -> datetime:
    # Where clocks are put forward at midnight there is none; the day begins with what follows.
    return datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(UTC)

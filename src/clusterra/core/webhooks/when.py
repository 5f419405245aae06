"""Moments as the reader of a message has them: in their own time zone, and saying so."""

from datetime import UTC, datetime, tzinfo

from clusterra.core.cost.periods import zone
from clusterra.core.errors import Invalid


def readers_zone(name: str) -> tzinfo:
    """Return the zone, or UTC where this machine does not know it: a message is sent anyway."""
    try:
        return zone(name)
    except Invalid:
        return UTC


def clock(at: datetime, zone: tzinfo) -> str:
    """Return `02:14 IST`."""
    here = at.astimezone(zone)
    return f"{here:%H:%M} {_abbreviation(here)}"


def moment(at: datetime, zone: tzinfo) -> str:
    """Return `2026-11-16 02:14 IST`: a message may come long after what it tells of."""
    return f"{at.astimezone(zone):%Y-%m-%d} {clock(at, zone)}"


def read_moment(text: object) -> datetime | None:
    """Read a moment as events write it."""
    try:
        read = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return read if read.tzinfo else read.replace(tzinfo=UTC)


def _abbreviation(here: datetime) -> str:
    # Many zones have no letters: Asia/Dubai calls itself +04.
    name = here.tzname() or "UTC"
    return f"UTC{name}" if name[0] in "+-" else name

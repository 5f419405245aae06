"""Moments that only matter roughly, for tables that have little room: a day, and an age."""

from datetime import datetime

from clusterra.cli.amounts import duration
from clusterra.cli.table import Cell


def day(at: datetime) -> str:
    """Return the date, in the reader's own zone."""
    return at.astimezone().strftime("%Y-%m-%d")


def ago(at: datetime | None, now: datetime, *, never: str = "never") -> Cell:
    """Return `2h 05m ago`, or the word for something that has not been."""
    return Cell(never, faint=True) if at is None else Cell(f"{duration(now - at)} ago")

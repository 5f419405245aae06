"""How old an answer is, said with every answer about the far side."""

from datetime import datetime
from typing import TypedDict

from clusterra.control.site import Sky


class Sighted(TypedDict):
    observed_at: datetime | None
    age_seconds: float | None
    stale: bool


def sight(sky: Sky, now: datetime) -> Sighted:
    seen = sky.seen_at
    return {
        "observed_at": seen,
        "age_seconds": None if seen is None else round((now - seen).total_seconds(), 1),
        "stale": bool(sky.why_not),
    }

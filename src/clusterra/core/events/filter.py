"""Which events a query means. The stores answer in their own words; this is what they must mean."""

import re
from functools import lru_cache

from clusterra.core.events.event import Event, EventQuery


def matches(event: Event, query: EventQuery) -> bool:
    """Say whether the query means this event, whatever its page."""
    return (
        event.seq > query.after
        and (not query.types or any(is_like(event.type, glob) for glob in query.types))
        and (not query.subject or event.subject == query.subject)
        and (not query.actor or event.actor == query.actor)
        and (query.since is None or event.at >= query.since)
        and (query.until is None or event.at < query.until)
    )


def is_like(type: str, glob: str) -> bool:
    """Say whether a type is among those a glob names. Only `*` is special."""
    return _pattern(glob).fullmatch(type) is not None


@lru_cache(256)
def _pattern(glob: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, glob.split("*"))), re.DOTALL)

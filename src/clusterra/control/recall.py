"""Read a ledger by the page: what somebody wants to see of what they may see."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from clusterra.core.errors import NotFound
from clusterra.core.events.event import Event, EventQuery
from clusterra.core.jobs.job import Job
from clusterra.ports import Store

GROWTH = 8
"""How much further back each look for the newest events goes, when the last found too few."""

Allowed = Callable[[Event], bool]


class TooOld(NotFound):
    """Events after this position have been sealed away; a page would leave some out in silence."""

    def __init__(self, after: int, oldest: int) -> None:
        super().__init__(
            f"Events right after {after} can no longer be read here; the oldest is {oldest}.",
            hint=f"Go on from it with after={oldest - 1}; sealed segments hold what came before.",
            at="after",
            code="cursor-too-old",
        )
        self.oldest = oldest


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    events: Sequence[Event]
    next: int | None = None
    """The position to go on from; None when there is no more."""


async def recall(cluster: str, query: EventQuery, allowed: Allowed, *, store: Store) -> Recalled:
    """Return a page, oldest first, that is full unless it is the last."""
    found: list[Event] = []
    after = query.after
    while True:
        some = await store.events(cluster, replace(query, after=after, limit=query.limit + 1))
        found += filter(allowed, some)
        if len(found) > query.limit:
            return Recalled(events=found[: query.limit], next=found[query.limit - 1].seq)
        if len(some) <= query.limit:
            return Recalled(events=found)
        after = some[-1].seq


async def recall_newest(
    cluster: str,
    query: EventQuery,
    allowed: Allowed,
    *,
    store: Store,
    before: int | None = None,
) -> Recalled:
    """Return the newest that match, before a position if there is one; oldest of them first."""
    newest = (await store.head(cluster)).size if before is None else before - 1
    span = query.limit
    while True:
        after = max(newest - span, query.after)
        some = await store.events(cluster, replace(query, after=after, limit=span))
        found = [event for event in some if event.seq <= newest and allowed(event)]
        if len(found) >= query.limit or after == query.after:
            return Recalled(events=found[-query.limit :])
        span *= GROWTH


async def check_readable(cluster: str, after: int, *, store: Store) -> None:
    """Raise TooOld if events after this position are gone."""
    oldest = await store.oldest(cluster)
    if after + 1 < oldest:
        raise TooOld(after, oldest)


def of_job(job: Job) -> EventQuery:
    """Return the query for a job's own events, and not for those of an earlier one with its id."""
    return EventQuery(subject=f"job/{job.id}", since=job.born_at)

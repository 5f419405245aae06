"""Who did what: the ledgers of a workspace and of its clusters, read together, newest first.

Each ledger keeps its own order. Between them it is the moment of the event that
decides, and where each was left off is remembered, so that the next page misses
nothing and repeats nothing.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from clusterra.control.recall import recall_newest
from clusterra.core.events.event import Event, EventQuery
from clusterra.ports import Store

Allowed = Callable[[Event], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited:
    events: Sequence[Event]
    next: Mapping[str, int] | None
    """For each ledger the first event that was shown, to go on before; None at the end."""


async def audit(
    ledgers: Mapping[str, Allowed],
    query: EventQuery,
    *,
    before: Mapping[str, int],
    store: Store,
) -> Audited:
    """Return the newest events of several ledgers, as far as each may be read."""
    asked = replace(query, limit=query.limit + 1)
    pages = await asyncio.gather(
        *(
            recall_newest(ledger, asked, allowed, before=before.get(ledger), store=store)
            for ledger, allowed in ledgers.items()
        )
    )
    waiting = {ledger: list(page.events) for ledger, page in zip(ledgers, pages, strict=True)}
    taken: list[Event] = []
    while len(taken) < query.limit and (newest := _newest(waiting)):
        taken.append(waiting[newest].pop())
    if not any(waiting.values()):
        return Audited(events=taken, next=None)
    left = {ledger: page[-1].seq + 1 if page else 1 for ledger, page in waiting.items()}
    return Audited(events=taken, next=left)


def _newest(waiting: Mapping[str, list[Event]]) -> str:
    """Return the ledger whose last event is the latest; empty when all have been read."""
    there = [ledger for ledger, page in waiting.items() if page]
    return max(there, key=lambda ledger: waiting[ledger][-1].at, default="")

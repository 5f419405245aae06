"""What was decided about a fleet, read back from the ledger: newest first, with the reasons.

One decision may resize several shapes; the ledger has an event for each, with the same
version of the fleet. A shortage that was found in the same moment belongs to it.
"""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import msgspec

from clusterra.control.recall import recall_newest
from clusterra.core.events.catalogue.fleet import FleetResized, FleetShortage
from clusterra.core.events.event import Event, EventQuery
from clusterra.ports import Store
from clusterra.wire.fleet import DecisionPage, DecisionView, ResizeTold, ShortageTold

TYPES = ("fleet.resized", "fleet.shortage")

_PER_DECISION = 4
"""Events that one decision is expected to have; if it was more, more are read."""

Told: TypeAlias = tuple[Event, FleetResized | FleetShortage]


async def recall_decisions(
    cluster: str, *, limit: int, before: int | None, store: Store
) -> DecisionPage:
    """Return the newest decisions, or the newest before an event."""
    many = _PER_DECISION * limit
    while True:
        query = EventQuery(types=TYPES, limit=many)
        page = await recall_newest(cluster, query, _everybodys, store=store, before=before)
        groups = list(_groups(page.events))
        whole = len(page.events) < many
        if not whole:
            groups.pop()  # it may have begun before the oldest event that was read
        if whole or len(groups) >= limit:
            break
        many *= _PER_DECISION
    more = not whole or len(groups) > limit
    groups = groups[:limit]
    oldest = groups[-1][0][0].seq if groups and more else None
    return DecisionPage(decisions=[_view(group) for group in groups], next=oldest)


def _everybodys(_event: Event) -> bool:
    return True


def _groups(events: Sequence[Event]) -> Iterator[list[Told]]:
    """Yield what was decided at once, newest first; the events of each oldest first."""
    group: list[Told] = []
    for event in reversed(events):
        one = (event, _fact(event))
        if group and not _together(group[0], one):
            yield group
            group = []
        group.insert(0, one)
    if group:
        yield group


def _together(newer: Told, older: Told) -> bool:
    (event, fact), (earlier, before) = newer, older
    if isinstance(fact, FleetResized) and isinstance(before, FleetResized):
        return fact.version == before.version
    return event.at == earlier.at


def _fact(event: Event) -> FleetResized | FleetShortage:
    data = msgspec.json.decode(event.body)["data"]
    if event.type == "fleet.shortage":
        return msgspec.convert(data, FleetShortage)
    return msgspec.convert(data, FleetResized)


def _view(group: Sequence[Told]) -> DecisionView:
    resized = [(event.seq, fact) for event, fact in group if isinstance(fact, FleetResized)]
    short = [(event.seq, fact) for event, fact in group if isinstance(fact, FleetShortage)]
    last = resized[-1][1] if resized else FleetResized(shape="", before=0, after=0, reason="")
    return DecisionView(
        version=last.version,
        at=group[-1][0].at,
        rule=last.rule,
        waiting_jobs=last.waiting_jobs,
        workers=last.workers,
        warming=last.warming,
        usd_per_hour_micros=last.usd_per_hour_micros,
        changes=[
            ResizeTold(
                seq=seq,
                shape=fact.shape,
                before=fact.before,
                after=fact.after,
                reason=fact.reason,
                refused=list(fact.refused),
            )
            for seq, fact in resized
        ],
        shortages=[
            ShortageTold(
                seq=seq, shape=fact.shape, why=fact.why, failures=fact.failures, until=fact.until
            )
            for seq, fact in short
        ],
    )

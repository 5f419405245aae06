"""Deliveries in a dict: what a query means, for the real ones to agree with."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from clusterra.core.errors import Conflict
from clusterra.core.events.filter import is_like
from clusterra.core.webhooks.delivery import (
    Attempt,
    Delivery,
    DeliveryOrder,
    DeliveryQuery,
    DeliveryState,
    place_of,
)

Key = tuple[str, str]


class MemoryDeliveries:
    def __init__(self) -> None:
        self._of: defaultdict[str, dict[str, Delivery]] = defaultdict(dict)
        self._attempts: defaultdict[Key, dict[int, Attempt]] = defaultdict(dict)

    def check(self, deliveries: Sequence[Delivery], attempts: Sequence[Attempt]) -> None:
        """Raise Conflict if one of them is not as it was read. Changes nothing."""
        versions: dict[Key, int] = {}
        # Those that are new come first, as in SQLite.
        for each in sorted(deliveries, key=lambda each: each.version > 0):
            key = each.endpoint, each.event_id
            stored = self.one(*key)
            if each.version != versions.get(key, stored.version if stored else 0):
                raise Conflict(
                    f"The delivery of {each.event_id} to {each.endpoint} was changed by somebody"
                    " else."
                )
            versions[key] = each.version + 1
        tries = {(each.endpoint, each.event_id, each.number) for each in attempts}
        if len(tries) < len(attempts) or any(
            number in self._attempts.get((endpoint, event_id), ())
            for endpoint, event_id, number in tries
        ):
            raise Conflict("An attempt with this number was written by somebody else.")

    def put(self, deliveries: Sequence[Delivery], attempts: Sequence[Attempt]) -> None:
        """Write what was checked."""
        for each in sorted(deliveries, key=lambda each: each.version):
            self._of[each.endpoint][each.event_id] = replace(each, version=each.version + 1)
        for attempt in attempts:
            self._attempts[attempt.endpoint, attempt.event_id][attempt.number] = attempt

    def one(self, endpoint: str, event_id: str) -> Delivery | None:
        return self._of.get(endpoint, {}).get(event_id)

    def found(self, query: DeliveryQuery) -> Sequence[Delivery]:
        meant = [each for each in self._of.get(query.endpoint, {}).values() if _means(query, each)]
        if query.order is DeliveryOrder.DUE:
            due = [(each.due, place_of(each), each) for each in meant if each.due]
            return [each for *_, each in sorted(due, key=lambda item: item[:2])][: query.limit]
        newest = query.order is DeliveryOrder.NEWEST
        if (after := query.after) is not None:
            meant = [
                each
                for each in meant
                if (place_of(each) < after if newest else place_of(each) > after)
            ]
        return sorted(meant, key=place_of, reverse=newest)[: query.limit]

    def attempts(self, endpoint: str, event_id: str) -> Sequence[Attempt]:
        return [each for _, each in sorted(self._attempts.get((endpoint, event_id), {}).items())]

    def lanes(self) -> Mapping[str, datetime]:
        found: dict[str, datetime] = {}
        for endpoint, mine in self._of.items():
            if due := [each.due for each in mine.values() if each.due]:
                found[endpoint] = min(due)
        return found

    def tally(self, endpoint: str, since: datetime | None) -> Mapping[DeliveryState, int]:
        mine = self._of.get(endpoint, {}).values()
        states = Counter(each.state for each in mine if since is None or each.at >= since)
        return {state: states[state] for state in DeliveryState}

    def forget(self, endpoint: str, ended_before: datetime | None) -> int:
        if ended_before is None:
            for key in [key for key in self._attempts if key[0] == endpoint]:
                del self._attempts[key]
            return len(self._of.pop(endpoint, {}))
        gone = [
            each
            for mine in self._of.values()
            for each in mine.values()
            if endpoint in ("", each.endpoint) and _was_over(each, ended_before)
        ]
        for each in gone:
            del self._of[each.endpoint][each.event_id]
            self._attempts.pop((each.endpoint, each.event_id), None)
        return len(gone)


def _means(query: DeliveryQuery, each: Delivery) -> bool:
    """Say whether a query means this delivery, whatever its page."""
    return (
        (not query.states or each.state in query.states)
        and (not query.types or any(is_like(each.type, glob) for glob in query.types))
        and (query.due_by is None or (each.due is not None and each.due <= query.due_by))
        and (query.tried is None or query.tried == (each.attempts > 0))
        and (query.since is None or each.at >= query.since)
        and (query.until is None or each.at < query.until)
    )


def _was_over(each: Delivery, by: datetime) -> bool:
    over = each.made_at if each.state is DeliveryState.KEPT else each.ended_at
    return not each.state.open and over is not None and over < by

"""What automations have still to do about one ledger, and whether it is ours to do.

Of several servers one reads a ledger and acts on it: whoever holds the lease, which
stands in every commit. What is due is held in memory while it is; whoever takes over
reads it from the store.
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from clusterra.control.lease import Lease, Tenure
from clusterra.core.automation.firing import DUE, Firing
from clusterra.core.change import Change, Record
from clusterra.core.errors import Conflict
from clusterra.ports import Store

_NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(slots=True, kw_only=True)
class Due:
    ledger: str
    store: Store
    tenure: Tenure
    added: Callable[[], None] = lambda: None
    """Called when there is something new to do."""

    _records: dict[str, Record[Firing]] | None = field(default=None)
    _asking: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def is_empty(self) -> bool:
        """Say whether there is nothing to do, without claiming that it is ours to do."""
        held = self.tenure.latest
        ours = held is not None and (held.value.until or _NEVER) > self.tenure.clock.now()
        if self._records is None or not ours:
            return not await self.store.list(DUE, f"{self.ledger}/")
        return not self._records

    async def lease(self) -> Record[Lease] | None:
        """Return the lease if it is ours to act, with all known that is due."""
        async with self._asking:
            held = await self.tenure.held()
            if held is None:
                self._records = None
            elif self._records is None:
                found = await self.store.list(DUE, f"{self.ledger}/")
                self._records = {record.id: record for record in found}
            return held

    async def commit(self, change: Change) -> bool:
        """Write a change as whoever holds the lease; False if somebody else does, or was quicker."""
        try:
            await self.store.commit(self.ledger, change)
        except Conflict:
            self.forget()
            return False
        return True

    def forget(self) -> None:
        """Look again at everything before the next act."""
        self.tenure.lost()
        self._records = None

    def add(self, records: Iterable[Record[Firing]]) -> None:
        for record in records:
            if self._records is not None:
                self._records[record.id] = record
        self.added()

    def drop(self, id: str) -> None:
        if self._records is not None:
            self._records.pop(id, None)

    def ready(self, now: datetime, limit: int) -> list[Record[Firing]]:
        """Return what is to be done now, the longest overdue first."""
        found = [each for each in self._all() if each.value.due_at <= now]
        found.sort(key=lambda each: (each.value.due_at, each.value.cause.seq, each.id))
        return found[:limit]

    def next_at(self) -> datetime | None:
        """Return when the next is to be done."""
        return min((each.value.due_at for each in self._all()), default=None)

    def _all(self) -> Iterable[Record[Any]]:
        return () if self._records is None else self._records.values()

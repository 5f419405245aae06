"""Write what came of deliveries: all that has come while the last was being written, in one commit.

Every commit is synced to disk and stands on the lane's lease. In a burst, thirty results
share both; one that comes alone waits for nobody.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from clusterra.control.lease import Tenure
from clusterra.core.change import Change
from clusterra.core.errors import Conflict
from clusterra.core.events.event import Draft
from clusterra.core.webhooks.delivery import Attempt, Delivery
from clusterra.ports import Store


@dataclass(slots=True, kw_only=True)
class Result:
    """What came of one attempt: the deliveries as they are now, the tries, what is told of them."""

    rows: Sequence[Delivery]
    attempts: Sequence[Attempt]
    events: Sequence[Draft] = ()


@dataclass(slots=True)
class _Group:
    results: list[Result] = field(default_factory=list)
    over: asyncio.Event = field(default_factory=asyncio.Event)
    written: bool = False


@dataclass(slots=True, kw_only=True)
class Together:
    """Of one lane."""

    store: Store
    tenure: Tenure
    _gathering: _Group = field(default_factory=_Group)
    _writing: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def write(self, ledger: str, result: Result) -> bool:
        """Return once it is written; False if it, or the lease, is not as we knew it."""
        group = self._gathering
        group.results.append(result)
        if len(group.results) == 1:
            await self._write_all(ledger, group)
        else:
            await group.over.wait()
        # One that cannot be written takes the others with it: then each is tried by itself.
        return group.written or await self._commit(ledger, [result])

    async def _write_all(self, ledger: str, group: _Group) -> None:
        """Write for all who come until the last group is written."""
        try:
            async with self._writing:
                self._gathering = _Group()
                group.written = await self._commit(ledger, group.results)
        finally:
            if self._gathering is group:
                self._gathering = _Group()
            group.over.set()

    async def _commit(self, ledger: str, results: Sequence[Result]) -> bool:
        lease = self.tenure.latest or await self.tenure.held()
        if lease is None:
            return False
        change = Change(
            deliveries=[row for each in results for row in each.rows],
            attempts=[attempt for each in results for attempt in each.attempts],
            events=[event for each in results for event in each.events],
            unmoved=[lease],
        )
        try:
            await self.store.commit(ledger, change)
        except Conflict:
            self.tenure.lost(lease)
            return False
        return True

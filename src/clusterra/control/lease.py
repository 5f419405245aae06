"""Who may act: of several processes that look after one cluster, one at a time.

The lease is a record. Whoever acts puts it, as they hold it, into the same commit; if
somebody else has taken it meanwhile, the whole commit fails. So a process that was
asleep for an hour cannot act on what it thought before.
"""

import asyncio
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from clusterra.core.change import Change, Kind, Record
from clusterra.core.errors import Conflict
from clusterra.ports import Clock, Store

GOOD_FOR = timedelta(seconds=60)
RENEW = GOOD_FOR / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    holder: str = ""
    until: datetime | None = None


LEASE: Kind[Lease] = Kind("lease", Lease)
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(slots=True, kw_only=True)
class Tenure:
    """One process's claim to be the one that acts."""

    cluster: str
    what: str
    holder: str
    """Who we are, different from process to process."""

    store: Store
    clock: Clock
    good_for: timedelta = GOOD_FOR
    least: timedelta = RENEW
    """How much of it must be left for whoever begins something; with less it is renewed first."""

    _held: Record[Lease] | None = field(default=None)
    _asking: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Of several that ask at once in this process, one renews it. If all did, they would take it
    from each other."""

    async def held(self) -> Record[Lease] | None:
        """Return the lease as we hold it, to be put into what we commit; None if another has it."""
        if self._is_good(self.clock.now()):
            return self._held
        async with self._asking:
            now = self.clock.now()
            return self._held if self._is_good(now) else await self._renew(now)

    def _is_good(self, now: datetime) -> bool:
        return self._held is not None and _until(self._held) - now > self.least

    async def _renew(self, now: datetime) -> Record[Lease] | None:
        record = await self.store.get(LEASE, f"{self.what}/{self.cluster}", default=Lease())
        if record.value.holder not in ("", self.holder) and _until(record) > now:
            self._held = None
            return None
        mine = replace(record, value=Lease(holder=self.holder, until=now + self.good_for))
        try:
            await self.store.commit(self.cluster, Change(puts=[mine]))
        except Conflict:
            self._held = None
            return None
        self._held = replace(mine, version=mine.version + 1)
        return self._held

    @property
    def latest(self) -> Record[Lease] | None:
        """The lease as we last held it, whether or not we still do: to be put to the proof."""
        return self._held

    def used(self) -> None:
        """Note that the lease was part of a commit that went through."""
        if self._held is not None:
            self._held = replace(self._held, version=self._held.version + 1)

    def lost(self, lease: Record[Lease] | None = None) -> None:
        """Look again who has it before the next act. With the lease that a commit failed with: only
        if we have not renewed it since, or else that was why."""
        if lease is None or self._held is lease:
            self._held = None


def _until(record: Record[Lease]) -> datetime:
    return record.value.until or _LONG_AGO

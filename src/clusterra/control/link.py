"""Whether a cluster is within sight, as its ledger tells it."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from clusterra.core.change import Change, Kind, Record
from clusterra.core.clusters import SlurmInfo
from clusterra.core.events import catalogue as facts
from clusterra.core.events.event import Draft
from clusterra.core.events.fact import Fact
from clusterra.core.ids import uuid8
from clusterra.ports import Clock, Store

NOTABLE = timedelta(seconds=30)
"""How long Slurm must have been out of sight before that is an event: longer than it takes to
start its daemons again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    connected_at: datetime | None = None
    """When it was first seen: its ledger begins here."""

    unseen_since: datetime | None = None
    """Set while the ledger says that it cannot be seen."""

    started_at: datetime | None = None
    """The start of an embedded cluster that the ledger has told of."""


LINK: Kind[Link] = Kind("link", Link)


@dataclass(slots=True, kw_only=True)
class Linked:
    cluster: str
    store: Store
    clock: Clock
    _record: Record[Link] | None = field(default=None)
    _failing_since: datetime | None = field(default=None)

    async def connected_at(self, info: SlurmInfo) -> datetime:
        """Return when the ledger begins; the first time, that is now."""
        link = await self._link()
        if link.connected_at is not None:
            return link.connected_at
        now = self.clock.now()
        fact = facts.ClusterConnected(slurm_version=info.version, api_version=info.api_version)
        await self._tell(replace(link, connected_at=now), fact, now)
        return now

    async def seen(self) -> None:
        self._failing_since = None
        link = await self._link()
        if link.unseen_since is not None:
            now = self.clock.now()
            unseen = int((now - link.unseen_since).total_seconds())
            fact = facts.ClusterRecovered(unseen_seconds=unseen)
            await self._tell(replace(link, unseen_since=None), fact, now)

    async def unseen(self, why: str) -> None:
        now = self.clock.now()
        self._failing_since = self._failing_since or now
        link = await self._link()
        if link.connected_at is None or link.unseen_since is not None:
            return
        if now - self._failing_since >= NOTABLE:
            since = self._failing_since
            await self._tell(
                replace(link, unseen_since=since), facts.ClusterUnreachable(why=why), since
            )

    async def started(self, at: datetime) -> None:
        """Tell of a start, once for each."""
        link = await self._link()
        if link.started_at != at:
            await self._tell(replace(link, started_at=at), facts.ClusterStarted(), at)

    async def stopped(self) -> None:
        await self._tell(await self._link(), facts.ClusterStopped(), self.clock.now())

    async def _tell(self, link: Link, fact: Fact, at: datetime) -> None:
        record = replace(await self._loaded(), value=link)
        draft = Draft(
            id=uuid8(self.cluster, fact.type, at.timestamp()),
            fact=fact,
            at=at,
            actor="system:clusterra",
            subject="cluster",
        )
        await self.store.commit(self.cluster, Change(puts=[record], events=[draft]))
        self._record = replace(record, version=record.version + 1)

    async def _link(self) -> Link:
        return (await self._loaded()).value

    async def _loaded(self) -> Record[Link]:
        if self._record is None:
            self._record = await self.store.get(LINK, self.cluster, default=Link())
        return self._record

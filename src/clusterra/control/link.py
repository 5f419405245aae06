"""Whether a cluster is within sight, as its ledger tells it: its Slurm, and its agent."""

import asyncio
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from clusterra.core.change import Change, Kind, Record
from clusterra.core.clusters import SlurmInfo
from clusterra.core.events.catalogue import clusters as facts
from clusterra.core.events.event import Draft
from clusterra.core.events.fact import Fact
from clusterra.core.ids import uuid8
from clusterra.ports import Clock, Store

NOTABLE = timedelta(seconds=30)
"""How long Slurm must have been out of sight before that is an event: longer than it takes to
start its daemons again."""


AGENT = "agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    connected_at: datetime | None = None
    """When it was first seen: its ledger begins here."""

    unseen_since: datetime | None = None
    """Set while the ledger says that it cannot be seen."""

    started_at: datetime | None = None
    """The start of an embedded cluster that the ledger has told of."""

    agent: str = ""
    """The agent that was heard last; empty if none ever was."""

    agent_unseen_since: datetime | None = None
    """Set while the ledger says that the agent is not heard."""


LINK: Kind[Link] = Kind("link", Link)


@dataclass(slots=True, kw_only=True)
class Linked:
    cluster: str
    store: Store
    clock: Clock
    _record: Record[Link] | None = field(default=None)
    _failing_since: datetime | None = field(default=None)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Slurm and the agent are looked after by different loops; the record is one."""

    async def connected_at(self, info: SlurmInfo) -> datetime:
        """Return when the ledger begins; the first time, that is now."""
        async with self._turn:
            link = await self._link()
            if link.connected_at is not None:
                return link.connected_at
            now = self.clock.now()
            fact = facts.ClusterConnected(slurm_version=info.version, api_version=info.api_version)
            await self._tell(replace(link, connected_at=now), fact, now)
            return now

    async def seen(self) -> None:
        self._failing_since = None
        async with self._turn:
            link = await self._link()
            if link.unseen_since is not None:
                now = self.clock.now()
                fact = facts.ClusterRecovered(unseen_seconds=_seconds(link.unseen_since, now))
                await self._tell(replace(link, unseen_since=None), fact, now)

    async def unseen(self, why: str) -> None:
        now = self.clock.now()
        since = self._failing_since = self._failing_since or now
        async with self._turn:
            link = await self._link()
            if link.connected_at is None or link.unseen_since is not None:
                return
            if now - since >= NOTABLE:
                fact = facts.ClusterUnreachable(why=why)
                await self._tell(replace(link, unseen_since=since), fact, since)

    async def agent(self) -> str:
        """Return the agent that was heard last, also before this server was started."""
        return (await self._link()).agent

    async def agent_seen(self, agent: str) -> None:
        async with self._turn:
            link = await self._link()
            seen = replace(link, agent=agent, agent_unseen_since=None)
            if link.agent_unseen_since is not None:
                now = self.clock.now()
                unseen = _seconds(link.agent_unseen_since, now)
                fact = facts.ClusterRecovered(unseen_seconds=unseen, part=AGENT)
                await self._tell(seen, fact, now)
            elif seen != link:
                await self._put(seen)

    async def agent_unseen(self, since: datetime, why: str) -> None:
        """Tell, once, that the agent is not heard any more. One that never was is not missed."""
        async with self._turn:
            link = await self._link()
            if link.agent and link.agent_unseen_since is None:
                fact = facts.ClusterUnreachable(why=why, part=AGENT)
                await self._tell(replace(link, agent_unseen_since=since), fact, self.clock.now())

    async def started(self, at: datetime) -> None:
        """Tell of a start, once for each."""
        async with self._turn:
            link = await self._link()
            if link.started_at != at:
                await self._tell(replace(link, started_at=at), facts.ClusterStarted(), at)

    async def stopped(self) -> None:
        async with self._turn:
            await self._tell(await self._link(), facts.ClusterStopped(), self.clock.now())

    async def _tell(self, link: Link, fact: Fact, at: datetime) -> None:
        part = [AGENT] if getattr(fact, "part", "") == AGENT else []
        draft = Draft(
            id=uuid8(self.cluster, fact.type, at.timestamp(), *part),
            fact=fact,
            at=at,
            actor="system:clusterra",
            subject="cluster",
        )
        await self._put(link, draft)

    async def _put(self, link: Link, *events: Draft) -> None:
        record = replace(await self._loaded(), value=link)
        await self.store.commit(self.cluster, Change(puts=[record], events=events))
        self._record = replace(record, version=record.version + 1)

    async def _link(self) -> Link:
        return (await self._loaded()).value

    async def _loaded(self) -> Record[Link]:
        if self._record is None:
            self._record = await self.store.get(LINK, self.cluster, default=Link())
        return self._record


def _seconds(since: datetime, now: datetime) -> int:
    return int((now - since).total_seconds())

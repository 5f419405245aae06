"""Look at a cluster's nodes, and tell what happened to them since the last look."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from clusterra.control.policy import load_policy
from clusterra.control.site import Site
from clusterra.core.change import Change, Kind, Record
from clusterra.core.clusters import Node
from clusterra.core.events.nodes import Known, derive_nodes
from clusterra.core.seen import Seen
from clusterra.ports import Clock, Store

KNOWN: Kind[Known | None] = Kind("nodes", Known | None)


@dataclass(slots=True, kw_only=True)
class NodeWatch:
    """One for each cluster, whoever looks: who observes the queue, and who decides about workers."""

    site: Site
    store: Store
    clock: Clock
    _known: Record[Known | None] | None = None
    """The nodes as the ledger has told of them."""

    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    """From asking to writing: of two looks, the later one is told last."""

    async def look(self) -> Sequence[Node]:
        async with self._turn:
            now = self.clock.now()
            nodes = tuple(await self.site.slurm.nodes())
            self.site.sky.nodes = Seen(nodes, now)
            await self._tell(nodes)
            await self._meter(nodes)
            return nodes

    async def _meter(self, nodes: tuple[Node, ...]) -> None:
        edge = self.site.edge
        await self.site.meter.note(
            nodes,
            report=edge.report,
            offerings=edge.offerings,
            purchase=(await load_policy(self.site, self.store)).purchase,
            at=self.clock.now(),
        )

    async def _tell(self, nodes: tuple[Node, ...]) -> None:
        cluster, now = self.site.cluster.id, self.clock.now()
        old = self._known or await self.store.get(KNOWN, cluster, default=None)
        known, drafts = derive_nodes(old.value, nodes, cluster=cluster, now=now)
        if known != old.value:
            record = replace(old, value=known)
            await self.store.commit(cluster, Change(puts=[record], events=drafts))
            old = replace(record, version=record.version + 1)
        self._known = old

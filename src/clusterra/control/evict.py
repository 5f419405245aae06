"""Give up a node at once when the cloud says that it takes the machine back.

Slurm would notice after minutes, and the jobs would have been dead all that time. Told at
once, it queues them again while their machine still runs. The notice is an event; this
reads the ledger from where it left off, so that none is missed across a restart.
"""

import json
from contextlib import suppress
from dataclasses import dataclass, field, replace

import structlog

from clusterra.control.site import Site
from clusterra.core.change import Change, Kind, Record
from clusterra.core.errors import NotFound, Refused
from clusterra.core.events.event import Event, EventQuery
from clusterra.core.scaling.muster import OURS
from clusterra.core.seen import Seen
from clusterra.ports import Store

log = structlog.get_logger()

INTERRUPTED = "node.spot_interrupted"
TAKEN_BACK = f"{OURS}the cloud takes its machine back"

READ_TO: Kind[int] = Kind("evicted", int)
"""By cluster: the ledger's number up to which notices have been seen to."""


@dataclass(slots=True, kw_only=True)
class Evictor:
    site: Site
    store: Store
    _read_to: Record[int] | None = field(default=None)

    async def evict(self) -> bool:
        """See to the notices that have come; say whether there were any."""
        cluster = self.site.cluster.id
        head = (await self.store.head(cluster)).size
        read_to = await self._loaded(head)
        if head <= read_to.value:
            return False
        query = EventQuery(after=read_to.value, types=(INTERRUPTED,), limit=1000)
        notices = await self.store.events(cluster, query)
        for notice in notices:
            await self._give_up(notice)
        if notices:
            moved = replace(read_to, value=notices[-1].seq)
            await self.store.commit(cluster, Change(puts=[moved]))
            self._read_to = replace(moved, version=moved.version + 1)
        else:
            self._read_to = replace(read_to, value=head)
        return bool(notices)

    async def _give_up(self, notice: Event) -> None:
        name = self._node(notice)
        if not name:
            return
        log.warning("evict.spot", cluster=self.site.cluster.id, node=name)
        with suppress(NotFound, Refused):
            await self.site.slurm.mark_down(name, TAKEN_BACK)

    def _node(self, notice: Event) -> str:
        """Return Slurm's name of the machine; clouds know only their own."""
        said = json.loads(notice.body)["data"]
        if name := str(said.get("node") or ""):
            return name
        report = self.site.edge.report
        machines = report.value.machines if isinstance(report, Seen) else None
        instance = said.get("instance_id")
        return next((m.node for m in machines or () if instance and m.instance_id == instance), "")

    async def _loaded(self, head: int) -> Record[int]:
        if self._read_to is None:
            cluster = self.site.cluster.id
            record = await self.store.get(READ_TO, cluster, default=head)
            if not record.version:
                # Kept before the first notice comes, or one that comes while we are away is lost.
                await self.store.commit(cluster, Change(puts=[record]))
                record = replace(record, version=1)
            self._read_to = record
        return self._read_to

"""The keys that a cluster's collector and agent show: two may live at once, to change over."""

import asyncio
from dataclasses import dataclass, field

from clusterra.control.people.directory import Directory
from clusterra.control.people.doing import Doer, told
from clusterra.control.people.drawn import new_id, new_secret
from clusterra.core.change import Record
from clusterra.core.errors import Conflict, NotFound
from clusterra.core.events.catalogue import admin as facts
from clusterra.core.people.credentials import (
    CLUSTER_KEY,
    KEY_PREFIX,
    KEYS_AT_ONCE,
    ClusterKey,
    KeyUse,
    hash_of,
)
from clusterra.ports import Clock


@dataclass(slots=True, kw_only=True)
class Keys:
    directory: Directory
    clock: Clock
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Two who make one at once must not both find room for it."""

    async def make(
        self,
        cluster: str,
        workspace: str,
        *,
        name: str,
        by: Doer,
        use: KeyUse = KeyUse.COLLECTOR,
    ) -> tuple[str, ClusterKey]:
        async with self._turn:
            return await self._make(cluster, workspace, name, use, by)

    async def _make(
        self, cluster: str, workspace: str, name: str, use: KeyUse, by: Doer
    ) -> tuple[str, ClusterKey]:
        live = [each for each in self.directory.keys_of(cluster) if each.use is use]
        if len(live) >= KEYS_AT_ONCE:
            raise Conflict(
                f"The {use} of {cluster} has {len(live)} keys already, and {KEYS_AT_ONCE} at once"
                " is the most.",
                hint=f"Revoke the one no machine uses any more: clusterra keys revoke {live[0].id}",
                code="too-many-keys",
            )
        secret = new_secret(KEY_PREFIX)
        key = await self.keep(cluster, workspace, secret, name=name, by=by, use=use)
        return secret, key

    async def keep(
        self,
        cluster: str,
        workspace: str,
        secret: str,
        *,
        name: str,
        by: Doer,
        use: KeyUse = KeyUse.COLLECTOR,
    ) -> ClusterKey:
        """Take note of a key that somebody has, and let whoever shows it in."""
        now = self.clock.now()
        key = ClusterKey(
            id=new_id("key_", now),
            cluster=cluster,
            hash=hash_of(secret),
            name=name,
            use=use,
            created_at=now,
            created_by=by.name,
        )
        fact = facts.AdminKeyCreated(
            id=key.id,
            name=name,
            cluster=cluster,
            use=use,
            address=by.visit.address,
            agent=by.visit.agent,
        )
        await self.directory.commit(
            workspace,
            puts=[Record(kind=CLUSTER_KEY, id=key.id, value=key)],
            events=[told(fact, actor=by.actor, subject=f"key/{key.id}", at=now)],
        )
        return key

    async def revoke(self, cluster: str, workspace: str, id: str, *, by: Doer) -> ClusterKey:
        key = next((each for each in self.directory.keys_of(cluster) if each.id == id), None)
        if key is None:
            raise NotFound(
                f"{cluster} has no key {id[:64]!r}.",
                hint="`clusterra keys list` shows them.",
                code="key-not-found",
            )
        fact = facts.AdminKeyRevoked(
            id=id,
            name=key.name,
            cluster=cluster,
            use=key.use,
            address=by.visit.address,
            agent=by.visit.agent,
        )
        await self.directory.commit(
            workspace,
            drops=[self.directory.record(CLUSTER_KEY, id)],
            events=[told(fact, actor=by.actor, subject=f"key/{id}", at=self.clock.now())],
        )
        return key

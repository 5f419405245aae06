"""Register clusters while the server runs: those whose workers are elsewhere.

What is registered is a record, and comes back with the server. Slurm's key is neither in
the store nor in a ledger: it stays in a file that only the server reads. A cluster that is
removed is no longer looked after; its ledger is kept, and its number is not given again.
"""

import asyncio
import secrets
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import urlsplit

from clusterra.control.people.doing import Doer, told
from clusterra.control.people.people import People
from clusterra.control.site import Site
from clusterra.core.change import Record
from clusterra.core.clusters import REGISTERED, Registered
from clusterra.core.errors import ClusterraError, Conflict, Invalid
from clusterra.core.events.catalogue import admin as facts
from clusterra.core.ids import cluster_id
from clusterra.core.people.credentials import ClusterKey, KeyUse
from clusterra.core.quote import shown
from clusterra.ports import Clock, JwtKeys

LONGEST_NAME = 64
SHORTEST_KEY, LONGEST_KEY = 16, 64 << 10
"""Bytes. Slurm's documentation makes keys of 32; none that is used is shorter than 16."""

LOOK_SECONDS = 5.0
"""How long whoever registers a cluster waits to hear whether its Slurm answers."""

MADE_WITH_IT = "made with the cluster"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewCluster:
    name: str
    workspace: str
    slurm_url: str = ""
    jwt_key: bytes = field(default=b"", repr=False)
    region: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    cluster: Registered
    agent_key: str = field(repr=False)
    collector_key: str = field(repr=False)
    warning: str = ""
    """Why its Slurm could not be seen; empty if it was, or if none was named."""


class Ground(Protocol):
    """Where clusters are looked after."""

    sites: dict[str, Site]
    jwt_keys: JwtKeys

    def make_site(self, cluster: Registered, /) -> Site:
        """Return all that is needed to look after it. Raises Invalid."""
        ...

    async def look_after(self, site: Site, workspace: str) -> None:
        """Begin with it now."""
        ...

    async def let_go(self, cluster: str) -> None:
        """End all that goes on about it."""
        ...


@dataclass(slots=True, kw_only=True)
class Connect:
    ground: Ground
    people: People
    clock: Clock
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Two who want one name must not both find it free."""

    async def add(self, wanted: NewCluster, *, by: Doer) -> Added:
        """Register a cluster, and make the keys of its agent and its collector."""
        _check_slurm(wanted.slurm_url, wanted.jwt_key)
        async with self._turn:
            site, cluster = await self._register(wanted, by)
            agent, _ = await self._key(cluster, KeyUse.AGENT, by)
            collector, _ = await self._key(cluster, KeyUse.COLLECTOR, by)
        warning = await _first_look(site) if cluster.slurm_url else ""
        return Added(cluster=cluster, agent_key=agent, collector_key=collector, warning=warning)

    async def remove(self, cluster: str, *, by: Doer) -> Registered:
        """Look after it no longer. Its ledger is kept, its workers are left as they are."""
        async with self._turn:
            record = await self._registered(cluster)
            gone, now = record.value, self.clock.now()
            fact = facts.AdminClusterRemoved(id=gone.id, name=gone.name)
            await self.people.directory.commit(
                gone.workspace,
                drops=[record],
                events=[told(fact, actor=by.actor, subject=f"cluster/{gone.id}", at=now)],
            )
            for key in self.people.directory.keys_of(gone.id):
                await self.people.keys.revoke(gone.id, gone.workspace, key.id, by=by)
            await self.ground.let_go(gone.id)
            self.ground.jwt_keys.forget(gone.id)
        return gone

    async def rotate(
        self, cluster: str, use: KeyUse, *, by: Doer
    ) -> tuple[str, ClusterKey, list[ClusterKey]]:
        """Make another key for this use; those before it are good until they are revoked."""
        workspace = self.ground.sites[cluster].workspace
        keys = self.people.directory.keys_of(cluster)
        before = [each for each in keys if each.use is use]
        secret, key = await self.people.keys.make(
            cluster, workspace, name=f"rotated {self.clock.now():%Y-%m-%d}", use=use, by=by
        )
        return secret, key, before

    async def _register(self, wanted: NewCluster, by: Doer) -> tuple[Site, Registered]:
        now = self.clock.now()
        cluster = Registered(
            id=await self._new_id(),
            name=self._free_name(wanted.name, wanted.workspace),
            workspace=wanted.workspace,
            slurm_url=wanted.slurm_url,
            region=wanted.region,
            added_at=now,
            added_by=by.name,
        )
        fact = facts.AdminClusterAdded(id=cluster.id, name=cluster.name, slurm=cluster.slurm_url)
        if wanted.jwt_key:
            self.ground.jwt_keys.keep(cluster.id, wanted.jwt_key)
        try:
            site = self.ground.make_site(cluster)
            await self.people.directory.commit(
                cluster.workspace,
                puts=[Record(kind=REGISTERED, id=cluster.id, value=cluster)],
                events=[told(fact, actor=by.actor, subject=f"cluster/{cluster.id}", at=now)],
            )
        except BaseException:
            self.ground.jwt_keys.forget(cluster.id)
            raise
        await self.ground.look_after(site, cluster.workspace)
        return site, cluster

    async def _key(self, cluster: Registered, use: KeyUse, by: Doer) -> tuple[str, ClusterKey]:
        return await self.people.keys.make(
            cluster.id, cluster.workspace, name=MADE_WITH_IT, use=use, by=by
        )

    async def _registered(self, cluster: str) -> Record[Registered]:
        store = self.people.store
        for record in await store.list(REGISTERED, prefix=cluster):
            if record.id == cluster:
                return record
        raise Conflict(
            f"The cluster {cluster} stands in this server's settings, not among those that were"
            " added to it.",
            hint="Take it out of the settings file, and start the server again.",
            code="cluster-in-settings",
        )

    async def _new_id(self) -> str:
        """Return an id that no cluster has or ever had here."""
        while True:
            id = cluster_id(secrets.token_bytes(2))
            if id not in self.ground.sites and not (await self.people.store.head(id)).size:
                return id

    def _free_name(self, name: str, workspace: str) -> str:
        name = name.strip()
        if not name or len(name) > LONGEST_NAME or not name.isprintable():
            raise Invalid(
                f"A cluster cannot be called {shown(name)}.",
                hint=f"Choose a name of 1 to {LONGEST_NAME} characters.",
                at="name",
            )
        for site in self.ground.sites.values():
            if site.workspace == workspace and name in (site.cluster.name, site.cluster.id):
                raise Conflict(
                    f"There is a cluster {name!r} in {workspace} already: {site.cluster.id}.",
                    hint="Choose another name, or remove that one first.",
                    code="name-taken",
                )
        return name


def _check_slurm(url: str, key: bytes) -> None:
    if not url and not key:
        return
    if not url or not key:
        raise Invalid(
            "Slurm's address and its key go together: "
            + ("the address" if key else "the key")
            + " is missing.",
            hint="Give both (--slurm URL --jwt-key FILE), or neither and add the cluster again later.",
            at="slurm" if key else "jwt_key",
        )
    _check_url(url)
    if not SHORTEST_KEY <= len(key) <= LONGEST_KEY or b"-----BEGIN" in key:
        what = "a PEM file" if b"-----BEGIN" in key else f"{len(key):,} bytes"
        raise Invalid(
            f"This is not Slurm's HS256 key: it is {what}.",
            hint="Copy jwt_hs256.key from the slurmctld host, as it is; 32 random bytes are usual.",
            at="jwt_key",
            code="bad-jwt-key",
        )


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        fits = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        fits = False
    if not fits or not url.isprintable() or " " in url or parts.username or parts.query:
        raise Invalid(
            f"{shown(url)} is not the address of a slurmrestd.",
            hint="It looks like http://head:6820.",
            at="slurm",
            code="bad-url",
        )


async def _first_look(site: Site) -> str:
    try:
        async with asyncio.timeout(LOOK_SECONDS):
            await site.slurm.about()
    except TimeoutError:
        return f"Slurm did not answer within {LOOK_SECONDS:.0f} s; it is asked again and again."
    except ClusterraError as error:
        return f"Slurm cannot be seen yet: {error.detail}"
    return ""

"""The only file that knows which adapter stands behind which port."""

import getpass
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from clusterra.adapters.clock import SystemClock
from clusterra.adapters.logins_local import LocalLogins
from clusterra.adapters.logins_remote import RemoteLogins
from clusterra.adapters.logs_local import LocalLogs
from clusterra.adapters.logs_remote import RemoteLogs
from clusterra.adapters.slurmrest.slurm import SlurmRest
from clusterra.adapters.sqlite.store import SqliteStore
from clusterra.control.acts import Acts
from clusterra.control.record import Recorder
from clusterra.control.site import Site
from clusterra.control.submit import Submitter
from clusterra.core.budget import Budget
from clusterra.core.clusters import Cluster
from clusterra.core.errors import Invalid, NotFound
from clusterra.core.ids import uuid7
from clusterra.core.jobs.fit import Largest
from clusterra.ports import Clock, Store
from clusterra.settings import ClusterSettings, Settings


@dataclass(slots=True, kw_only=True)
class Plane:
    """The control plane, assembled: what every door is given."""

    settings: Settings
    store: Store
    clock: Clock
    sites: dict[str, Site]
    submitters: dict[str, Submitter]
    token: str
    """The admin's."""

    def site(self, id: str) -> Site:
        try:
            return self.sites[id]
        except KeyError:
            raise NotFound(
                f"There is no cluster {id!r} here.",
                hint=f"The clusters are: {', '.join(self.sites) or 'none yet'}.",
                code="cluster-not-found",
            ) from None


def make_plane(
    settings: Settings, *, store: Store, clock: Clock, sites: list[Site], token: str
) -> Plane:
    def new_run_id() -> str:
        return uuid7(clock.now(), os.urandom(10))

    return Plane(
        settings=settings,
        store=store,
        clock=clock,
        sites={site.cluster.id: site for site in sites},
        submitters={
            site.cluster.id: Submitter(site=site, store=store, clock=clock, new_run_id=new_run_id)
            for site in sites
        },
        token=token,
    )


@asynccontextmanager
async def assembled(settings: Settings) -> AsyncIterator[Plane]:
    """Assemble the plane of these settings, and take it apart in order."""
    state = settings.server.state
    clock = SystemClock()
    store = SqliteStore(state / "clusterra.db")
    sites = [_site(each, settings, store=store, clock=clock) for each in settings.clusters]
    plane = make_plane(
        settings,
        store=store,
        clock=clock,
        sites=sites,
        token=read_token(settings.server.token or state / "token"),
    )
    try:
        yield plane
    finally:
        for submitter in plane.submitters.values():
            await submitter.settle()
        for site in sites:
            await site.slurm.close()
        store.close()


def _site(each: ClusterSettings, settings: Settings, *, store: Store, clock: Clock) -> Site:
    embedded = each.embedded
    user = each.user or getpass.getuser()
    return Site(
        cluster=Cluster(id=each.id, name=each.name or each.id, slurm_url=each.slurm),
        slurm=SlurmRest(
            each.slurm,
            _read_key(each.jwt_key),
            service_user=each.service_user,
            timeout_seconds=settings.slurm.timeout_seconds,
            connections=settings.slurm.connections,
            clock=clock,
        ),
        logins=LocalLogins(embedded.root, single_user=user if embedded.single_user else "")
        if embedded
        else RemoteLogins(each.home),
        logs=LocalLogs(embedded.root) if embedded else RemoteLogs(),
        user=user,
        recorder=make_recorder(each.id, store=store, clock=clock),
        budget=Budget(settings.slurm.max_calls_per_minute),
        account=each.account,
        largest=Largest(cpus=embedded.largest_cpus, memory_mib=embedded.largest_memory_mib)
        if embedded and embedded.largest_cpus
        else None,
    )


def make_recorder(cluster: str, *, store: Store, clock: Clock) -> Recorder:
    acts = Acts(cluster=cluster, store=store, clock=clock)
    return Recorder(cluster=cluster, store=store, clock=clock, acts=acts)


def _read_key(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise Invalid(
            f"Slurm's JWT key {path} cannot be read: {error.strerror}.",
            hint="Copy jwt_hs256.key from the slurmctld host, readable for this user only.",
        ) from None


def read_token(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError as error:
        raise Invalid(
            f"The admin token {path} cannot be read: {error.strerror}.",
            hint="`clusterra up` and `clusterra serve` make it; start one of them.",
        ) from None

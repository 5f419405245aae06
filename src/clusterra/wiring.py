"""The only file that knows which adapter stands behind which port."""

import getpass
import os
import secrets
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import structlog

from clusterra.adapters.archive_local import LocalArchive
from clusterra.adapters.clock import SystemClock
from clusterra.adapters.ledger_key import LedgerKey, open_key
from clusterra.adapters.logins_local import LocalLogins
from clusterra.adapters.logins_remote import RemoteLogins
from clusterra.adapters.logs_local import LocalLogs
from clusterra.adapters.logs_remote import RemoteLogs
from clusterra.adapters.memory_archive import MemoryArchive
from clusterra.adapters.seal import SealKey, open_seal_key
from clusterra.adapters.secret_file import secret_in
from clusterra.adapters.slurmrest.slurm import SlurmRest
from clusterra.adapters.sqlite.store import SqliteStore
from clusterra.control.acts import Acts
from clusterra.control.checkpoint import Checkpointer
from clusterra.control.follow import Hub
from clusterra.control.hear import Inbox
from clusterra.control.link import Linked
from clusterra.control.people.people import People
from clusterra.control.record import Recorder
from clusterra.control.site import Site
from clusterra.control.submit import Submitter
from clusterra.core.access import Role
from clusterra.core.budget import Budget
from clusterra.core.clusters import Cluster
from clusterra.core.errors import ClusterraError, Invalid, NotFound, Refused
from clusterra.core.ids import uuid7
from clusterra.core.jobs.fit import Largest
from clusterra.core.people.person import Workspace, ledger_of
from clusterra.core.people.rules import Rules
from clusterra.ports import Archive, Clock, Logs, Provider, Sealer, Signer, Store
from clusterra.settings import ClusterSettings, Settings, WorkspaceSettings

log = structlog.get_logger()

WORKSPACE = "clusterra"
"""The one there is when the settings name none."""


@dataclass(slots=True, kw_only=True)
class Plane:
    """The control plane, assembled: what every door is given."""

    settings: Settings
    store: Store
    clock: Clock
    sites: dict[str, Site]
    submitters: dict[str, Submitter]
    inboxes: dict[str, Inbox]
    hub: Hub
    ledgers: dict[str, Checkpointer]
    archive: Archive
    people: People
    token: str
    """Of whoever runs the server."""

    keys: Mapping[str, str] = field(default_factory=dict)
    """Of each cluster, the key that its collector finds in a file beside the server."""

    @property
    def is_open(self) -> bool:
        return self.people.is_open

    async def open(self) -> None:
        """Read who there is, before anybody is let in."""
        await self.people.open(self.keys)

    def site(self, id: str) -> Site:
        try:
            return self.sites[id]
        except KeyError:
            raise no_such_cluster(id) from None


def no_such_cluster(id: str) -> NotFound:
    return NotFound(
        f"There is no cluster {id[:64]!r} here.",
        hint="`clusterra clusters list` shows those you have.",
        code="cluster-not-found",
    )


def make_plane(
    settings: Settings,
    *,
    store: Store,
    clock: Clock,
    sites: list[Site],
    token: str,
    keys: Mapping[str, str] | None = None,
    archive: Archive | None = None,
    signer: Signer | None = None,
    sealer: Sealer | None = None,
    provider: Provider | None = None,
) -> Plane:
    """Put a plane together. Without an archive and keys it has some that last as long as it."""
    archive = archive or MemoryArchive()
    signer = signer or LedgerKey(os.urandom(32))
    people = _people(
        settings,
        sites,
        store=store,
        clock=clock,
        sealer=sealer or SealKey(os.urandom(32), clock=clock),
        provider=provider,
    )
    for site in sites:
        site.workspace = people.clusters[site.cluster.id]
        site.recorder.actor_of = people.directory.actor_of

    def new_run_id() -> str:
        return uuid7(clock.now(), os.urandom(10))

    return Plane(
        settings=settings,
        store=store,
        clock=clock,
        sites={site.cluster.id: site for site in sites},
        submitters={
            site.cluster.id: Submitter(
                site=site,
                store=store,
                clock=clock,
                new_run_id=new_run_id,
                uid_of=people.directory.uid_of,
            )
            for site in sites
        },
        inboxes={site.cluster.id: Inbox(site=site, store=store, clock=clock) for site in sites},
        hub=Hub(store),
        ledgers={
            id: Checkpointer(cluster=id, store=store, archive=archive, signer=signer, clock=clock)
            for id in (
                *(site.cluster.id for site in sites),
                *(ledger_of(workspace.id) for workspace in people.workspaces),
            )
        },
        archive=archive,
        people=people,
        token=token,
        keys=keys or {},
    )


def _people(
    settings: Settings,
    sites: list[Site],
    *,
    store: Store,
    clock: Clock,
    sealer: Sealer,
    provider: Provider | None,
) -> People:
    listed = settings.workspaces or (WorkspaceSettings(id=WORKSPACE),)
    login = sites[0].user if sites else getpass.getuser()
    return People(
        store=store,
        clock=clock,
        sealer=sealer,
        provider=provider,
        workspaces=[Workspace(id=each.id, name=each.name or each.id) for each in listed],
        rules=[_rules(each) for each in listed],
        clusters={site.cluster.id: _workspace_of(site, settings, listed) for site in sites},
        operator_email=settings.server.owner or f"{login}@localhost",
        operator_login=login,
    )


def _workspace_of(site: Site, settings: Settings, listed: tuple[WorkspaceSettings, ...]) -> str:
    named = [each.workspace for each in settings.clusters if each.id == site.cluster.id]
    wanted = next(iter(named), "") or listed[0].id
    if wanted not in {each.id for each in listed}:
        raise Invalid(
            f"The cluster {site.cluster.id} is to belong to the workspace {wanted}, and there is"
            " no such workspace.",
            hint="Add it to the settings: [[workspaces]] with that id.",
        )
    return wanted


def _rules(each: WorkspaceSettings) -> Rules:
    try:
        return Rules(
            workspace=each.id,
            domains=frozenset(domain.lower() for domain in each.domains),
            domain_role=Role(each.domain_role),
            groups={group: Role(role) for group, role in each.groups.items()},
        )
    except ValueError as error:
        raise Invalid(
            f"In the workspace {each.id}: {error}.",
            hint=f"The roles are: {', '.join(Role)}.",
        ) from None


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
        keys={each.id: _collector_key(each, state) for each in settings.clusters},
        archive=LocalArchive(settings.ledger.archive or state / "ledger"),
        signer=open_key(settings.ledger.key or state / "ledger.key"),
        sealer=SealKey(
            open_seal_key(settings.server.session_key or state / "session.key"), clock=clock
        ),
        provider=_provider(settings, clock),
    )
    try:
        for id, ledger in plane.ledgers.items():
            await ledger.open()
            if ledger.why_held:
                log.error("ledger.held", cluster=id, why=ledger.why_held)
                if id in plane.sites:
                    plane.sites[id].sky.why_not = ledger.why_held
        await plane.open()
        await _tell_of_starts(settings, sites)
        yield plane
    finally:
        await _tell_of_stops(settings, sites)
        for submitter in plane.submitters.values():
            await submitter.settle()
        await plane.people.uses.write()
        if plane.people.provider is not None:
            await plane.people.provider.close()
        for ledger in plane.ledgers.values():
            await _signed(ledger)
        for site in sites:
            await site.slurm.close()
        store.close()


async def _tell_of_starts(settings: Settings, sites: list[Site]) -> None:
    for each, site in zip(settings.clusters, sites, strict=True):
        if each.embedded and each.embedded.started_at:
            at = datetime.fromtimestamp(each.embedded.started_at, UTC)
            await _told(site.linked.started(at))


async def _tell_of_stops(settings: Settings, sites: list[Site]) -> None:
    # Only a stop that was asked for comes this far; a crash is no event but the gap it leaves.
    for each, site in zip(settings.clusters, sites, strict=True):
        if each.embedded and each.embedded.started_at:
            await _told(site.linked.stopped())


async def _told(telling: Awaitable[None]) -> None:
    try:
        await telling
    except Refused as error:
        # A ledger that takes nothing is shown and complained of elsewhere; it stops nobody
        # from starting, and reading.
        log.warning("ledger.not_told", why=error.detail)


async def _signed(ledger: Checkpointer) -> None:
    try:
        await ledger.sign()
    except ClusterraError as error:
        # The next start signs what this one could not.
        log.warning("ledger.not_signed", cluster=ledger.cluster, why=error.detail)


def _provider(settings: Settings, clock: Clock) -> Provider | None:
    oidc = settings.oidc
    if oidc is None:
        return None
    # Brings the libraries of the protocol, which a server without a provider need not load.
    from clusterra.adapters.oidc import OidcProvider  # noqa: PLC0415

    return OidcProvider(
        issuer=oidc.issuer,
        client_id=oidc.client_id,
        client_secret=_secret(oidc.client_secret_file),
        name=oidc.name or urlsplit(oidc.issuer).hostname or oidc.issuer,
        scopes=oidc.scopes,
        groups_claim=oidc.groups_claim,
        clock=clock,
    )


def _secret(path: Path | None) -> str:
    if path is None:
        return ""
    try:
        return path.read_text().strip()
    except OSError as error:
        raise Invalid(
            f"The client secret {path} cannot be read: {error.strerror}.",
            hint="Put the secret that the identity provider gave you into that file.",
        ) from None


def _site(each: ClusterSettings, settings: Settings, *, store: Store, clock: Clock) -> Site:
    embedded = each.embedded
    logs = LocalLogs(embedded.root, single_user=embedded.single_user) if embedded else RemoteLogs()
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
        logs=logs,
        user=user,
        recorder=make_recorder(each.id, store=store, clock=clock, logs=logs),
        linked=Linked(cluster=each.id, store=store, clock=clock),
        budget=Budget(settings.slurm.max_calls_per_minute),
        account=each.account,
        largest=Largest(cpus=embedded.largest_cpus, memory_mib=embedded.largest_memory_mib)
        if embedded and embedded.largest_cpus
        else None,
    )


def make_recorder(cluster: str, *, store: Store, clock: Clock, logs: Logs) -> Recorder:
    acts = Acts(cluster=cluster, store=store, clock=clock)
    return Recorder(cluster=cluster, store=store, clock=clock, acts=acts, logs=logs)


def _read_key(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise Invalid(
            f"Slurm's JWT key {path} cannot be read: {error.strerror}.",
            hint="Copy jwt_hs256.key from the slurmctld host, readable for this user only.",
        ) from None


def _collector_key(each: ClusterSettings, state: Path) -> str:
    """Return what this cluster's collector shows; the first time, make it."""
    path = each.collector_key or state / "keys" / f"{each.id}.key"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        key = secret_in(path, _new_key).decode().strip()
    except OSError as error:
        raise Invalid(
            f"The collector's key {path} cannot be read or made: {error.strerror}.",
            hint="Mend its permissions, or name another file with clusters.collector_key.",
        ) from None
    if not key:
        raise Invalid(
            f"The collector's key {path} is empty.", hint="Delete the file; a new one is made."
        )
    return key


def _new_key() -> bytes:
    return f"{secrets.token_urlsafe(32)}\n".encode()


def read_token(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError as error:
        raise Invalid(
            f"The token of whoever runs the server, {path}, cannot be read: {error.strerror}.",
            hint="`clusterra up` and `clusterra serve` make it; start one of them.",
        ) from None

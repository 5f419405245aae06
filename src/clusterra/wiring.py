"""The only file that knows which adapter stands behind which port."""

import getpass
import os
import secrets
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import structlog

from clusterra.adapters import ec2_prices, file_stores, shape_table
from clusterra.adapters.archive_local import LocalArchive
from clusterra.adapters.clock import SystemClock
from clusterra.adapters.envelope import spelled
from clusterra.adapters.jwt_keys_local import LocalJwtKeys
from clusterra.adapters.ledger_key import LedgerKey, open_key
from clusterra.adapters.logins_local import LocalLogins
from clusterra.adapters.logins_remote import RemoteLogins
from clusterra.adapters.logs_local import LocalLogs
from clusterra.adapters.memory_archive import MemoryArchive
from clusterra.adapters.memory_sender import MemorySender
from clusterra.adapters.seal import SealKey, open_seal_key
from clusterra.adapters.secret_file import secret_in
from clusterra.adapters.slurm_absent import AbsentSlurm
from clusterra.adapters.slurmrest.slurm import SlurmRest
from clusterra.adapters.sqlite.store import SqliteStore
from clusterra.adapters.template_files import shipped, template_files
from clusterra.adapters.vault import LocalVault, open_vault
from clusterra.adapters.yaml_text import read_yaml
from clusterra.control.acts import Acts
from clusterra.control.cost.meter import Meter
from clusterra.control.cost.waste import Wasting
from clusterra.control.edge import Edge
from clusterra.control.follow import Hub
from clusterra.control.link import Linked
from clusterra.control.people.people import People
from clusterra.control.plane import Plane
from clusterra.control.record import Recorder
from clusterra.control.site import Site
from clusterra.control.templates.catalogue import OURS, SETTINGS, Catalogue
from clusterra.core.access import Role
from clusterra.core.budget import Budget
from clusterra.core.clusters import Cluster, Registered
from clusterra.core.cost.prices import Book
from clusterra.core.errors import Invalid, Refused
from clusterra.core.jobs.fit import Largest
from clusterra.core.people.credentials import FileKey, KeyUse
from clusterra.core.people.person import Workspace, ledger_of
from clusterra.core.people.rules import Rules
from clusterra.core.scaling.policy import Policy
from clusterra.core.scaling.shapes import Shape
from clusterra.ports import (
    Archive,
    Clock,
    Logs,
    Mailer,
    PriceList,
    Provider,
    Sealer,
    Sender,
    Signer,
    Slurm,
    Store,
    Vault,
)
from clusterra.settings import ClusterSettings, ScalingSettings, Settings, WorkspaceSettings

log = structlog.get_logger()

WORKSPACE = "clusterra"
"""The one there is when the settings name none."""

NO_SLURM = "No slurmrestd was named for this cluster."


def make_plane(
    settings: Settings,
    *,
    store: Store,
    clock: Clock,
    sites: list[Site],
    token: str,
    keys: Sequence[FileKey] = (),
    archive: Archive | None = None,
    signer: Signer | None = None,
    sealer: Sealer | None = None,
    provider: Provider | None = None,
    price_list: PriceList | None = None,
    vault: Vault | None = None,
    sender: Sender | None = None,
    mailer: Mailer | None = None,
) -> Plane:
    """Put a plane together. Without an archive and keys it has some that last as long as it, and
    without a sender it reaches nobody."""
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
    plane = Plane(
        settings=settings,
        store=store,
        clock=clock,
        sites={},
        submitters={},
        inboxes={},
        hub=Hub(store),
        ledgers={},
        archive=archive,
        signer=signer,
        people=people,
        token=token,
        keys=keys,
        jwt_keys=_jwt_keys(settings),
        price_list=price_list,
        spelled=lambda draft, ledger: spelled(draft, cluster=ledger, at=clock.now()),
        catalogue=Catalogue(store=store, clock=clock, read=read_yaml),
        vault=vault or LocalVault(os.urandom(32)),
        sender=sender or MemorySender(),
        mailer=mailer,
        keeps=file_stores.retention_of(settings.files),
        make_site=lambda cluster: _registered_site(cluster, settings, store=store, clock=clock),
    )
    for site in sites:
        plane.add(site, people.clusters[site.cluster.id])
    for workspace in people.workspaces:
        plane.add_ledger(ledger_of(workspace.id))
    return plane


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
        keys=[key for each in settings.clusters for key in _file_keys(each, state)],
        archive=LocalArchive(settings.ledger.archive or state / "ledger"),
        signer=open_key(settings.ledger.key or state / "ledger.key"),
        sealer=SealKey(
            open_seal_key(settings.server.session_key or state / "session.key"), clock=clock
        ),
        provider=_provider(settings, clock),
        price_list=_price_list(settings, clock),
        vault=open_vault(settings.webhooks.key or state / "webhooks.key"),
        sender=_sender(settings),
        mailer=_mailer(settings),
    )
    _stock(plane.catalogue, settings)
    try:
        await plane.bring_back()
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
        await plane.scripts.settle()
        await plane.people.uses.write()
        if plane.people.provider is not None:
            await plane.people.provider.close()
        if plane.price_list is not None:
            await plane.price_list.close()
        await plane.sender.close()
        for ledger in plane.ledgers.values():
            await ledger.sign_if_possible()
        for site in plane.sites.values():
            await site.slurm.close()
            await site.logs.close()
            if site.files is not None:
                await site.files.close()
        store.close()


def _stock(catalogue: Catalogue, settings: Settings) -> None:
    """Take in the templates that everybody has; what is none is told of and left out."""
    catalogue.stock([*template_files(shipped())], OURS)
    directory = settings.templates.directory
    if directory is not None and not directory.is_dir():
        raise Invalid(
            f"The directory of templates {directory} does not exist.",
            hint="Make it, or take templates.directory out of the settings.",
        )
    if directory is not None:
        catalogue.stock([*template_files(directory)], SETTINGS)
    for each in catalogue.refused:
        flaw = each.flaws[0]
        log.warning("template.refused", file=each.file, line=flaw.line, why=flaw.reason)


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


def _sender(settings: Settings) -> Sender:
    # Brings an HTTP client, which tests of other rooms need not load.
    from clusterra.adapters.sender import HttpSender  # noqa: PLC0415

    server, webhooks = settings.server, settings.webhooks
    return HttpSender(
        private=webhooks.private,
        timeout_seconds=webhooks.timeout_seconds,
        own=[(server.host, server.port)] if server.port else [],
        proxy=webhooks.proxy,
    )


def _mailer(settings: Settings) -> Mailer | None:
    mail = settings.mail
    if mail is None:
        return None
    from clusterra.adapters.mailer import SmtpMailer  # noqa: PLC0415

    return SmtpMailer(
        host=mail.host,
        port=mail.port,
        sender=mail.sender,
        user=mail.user,
        password=_secret(mail.password_file),
        security=mail.security,
        timeout=settings.webhooks.timeout_seconds,
    )


def _price_list(settings: Settings, clock: Clock) -> PriceList | None:
    match settings.prices.source:
        case "table":
            return None
        case "aws":
            # Brings what signs requests, which a server that asks nobody need not load.
            from clusterra.adapters.aws_prices import AwsPrices  # noqa: PLC0415

            return AwsPrices(os.environ, clock)
        case other:
            raise Invalid(
                f"The setting prices.source cannot be {other!r}.", hint="Say table or aws."
            )


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
    edge = Edge()
    logs = _logs(each, edge)
    user = each.user or getpass.getuser()
    slurm = _slurm(each, settings, clock)
    shapes = shape_table.shapes(each.scaling) if each.scaling else {}
    begun_at = (
        datetime.fromtimestamp(embedded.started_at, UTC)
        if embedded and embedded.started_at
        else None
    )
    recorder = make_recorder(
        each.id,
        store=store,
        clock=clock,
        logs=logs,
        slurm=slurm,
        shapes=shapes,
        book=_book(each.scaling),
        begun_at=begun_at,
    )
    return Site(
        cluster=Cluster(id=each.id, name=each.name or each.id, slurm_url=each.slurm),
        slurm=slurm,
        logins=LocalLogins(embedded.root, single_user=user if embedded.single_user else "")
        if embedded
        else RemoteLogins(each.home),
        logs=logs,
        edge=edge,
        files=file_stores.store_of(each, settings, clock),
        job_files=file_stores.job_files_of(each),
        user=user,
        recorder=recorder,
        linked=Linked(cluster=each.id, store=store, clock=clock),
        budget=Budget(settings.slurm.max_calls_per_minute),
        account=each.account,
        slurm_key=_read_slurm_key(each.slurm_key),
        shapes=shapes,
        region=each.scaling.region if each.scaling else "",
        policy=shape_table.policy(each.scaling) if each.scaling else Policy(),
        begun_at=begun_at,
        largest=Largest(cpus=embedded.largest_cpus, memory_mib=embedded.largest_memory_mib)
        if embedded and embedded.largest_cpus and (each.scaling is None or each.scaling.only_these)
        else None,
    )


def _logs(each: ClusterSettings, edge: Edge) -> Logs:
    if embedded := each.embedded:
        return LocalLogs(embedded.root, single_user=embedded.single_user)
    # Brings an HTTP client, which tests of other rooms need not load.
    from clusterra.adapters.logs_agent import AgentLogs  # noqa: PLC0415

    return AgentLogs(lambda: edge.log_door)


def _book(scaling: ScalingSettings | None) -> Book:
    """Return the prices that come with the program, where it is known which region's count."""
    table = ec2_prices.prices(scaling.region) if scaling else {}
    return Book(table=table, table_at=ec2_prices.AS_OF)


def _jwt_keys(settings: Settings) -> LocalJwtKeys:
    return LocalJwtKeys(settings.server.state / "keys")


def _registered_site(
    cluster: Registered, settings: Settings, *, store: Store, clock: Clock
) -> Site:
    """Make the site of a cluster that was added; one whose Slurm cannot be asked is there too."""
    key = _jwt_keys(settings).path(cluster.id)
    why = "" if cluster.slurm_url else NO_SLURM
    if not why and not os.access(key, os.R_OK):
        why = f"The key of its Slurm, {key}, is gone."
    each = ClusterSettings(
        id=cluster.id,
        name=cluster.name,
        slurm="" if why else cluster.slurm_url,
        jwt_key=key,
        scaling=ScalingSettings(region=cluster.region) if cluster.region else ScalingSettings(),
    )
    site = _site(each, settings, store=store, clock=clock)
    site.cluster = replace(site.cluster, added=True)
    if why:
        site.slurm, site.sky.why_not = AbsentSlurm(why), why
        site.edge.lose_sight(why)
    return site


def _slurm(each: ClusterSettings, settings: Settings, clock: Clock) -> Slurm:
    if not each.slurm:
        return AbsentSlurm(NO_SLURM)
    return SlurmRest(
        each.slurm,
        _read_key(each.jwt_key),
        service_user=each.service_user,
        timeout_seconds=settings.slurm.timeout_seconds,
        connections=settings.slurm.connections,
        clock=clock,
    )


def _read_slurm_key(path: Path | None) -> bytes:
    if path is None:
        return b""
    try:
        return path.read_bytes()
    except OSError as error:
        raise Invalid(
            f"Slurm's own key {path} cannot be read: {error.strerror}.",
            hint="Copy slurm.key from the slurmctld host, readable for this user only, or leave"
            " clusters.slurm_key out.",
        ) from None


def make_recorder(
    cluster: str,
    *,
    store: Store,
    clock: Clock,
    logs: Logs,
    slurm: Slurm,
    shapes: Mapping[str, Shape] | None = None,
    book: Book | None = None,
    begun_at: datetime | None = None,
) -> Recorder:
    meter = Meter(
        cluster=cluster,
        store=store,
        clock=clock,
        book=book or Book(table_at=ec2_prices.AS_OF),
        shapes=shapes or {},
        begun_at=begun_at,
    )
    recorder = Recorder(
        cluster=cluster,
        store=store,
        clock=clock,
        acts=Acts(cluster=cluster, store=store, clock=clock),
        logs=logs,
        meter=meter,
        wasting=Wasting(meter=meter, store=store, clock=clock),
        earlier_runs=slurm.earlier_runs,
    )
    meter.running = recorder.running
    return recorder


def _read_key(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise Invalid(
            f"Slurm's JWT key {path} cannot be read: {error.strerror}.",
            hint="Copy jwt_hs256.key from the slurmctld host, readable for this user only.",
        ) from None


def _file_keys(each: ClusterSettings, state: Path) -> Iterator[FileKey]:
    """Return what this cluster's collector and agent show; the first time, make it."""
    keys = state / "keys"
    path = each.collector_key or keys / f"{each.id}.key"
    yield FileKey(cluster=each.id, use=KeyUse.COLLECTOR, secret=_file_key(path, KeyUse.COLLECTOR))
    if each.scaling is not None:
        path = each.agent_key or keys / f"{each.id}.agent.key"
        yield FileKey(cluster=each.id, use=KeyUse.AGENT, secret=_file_key(path, KeyUse.AGENT))


def _file_key(path: Path, use: KeyUse) -> str:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        key = secret_in(path, _new_key).decode().strip()
    except OSError as error:
        raise Invalid(
            f"The {use}'s key {path} cannot be read or made: {error.strerror}.",
            hint=f"Mend its permissions, or name another file with clusters.{use}_key.",
        ) from None
    if not key:
        raise Invalid(
            f"The {use}'s key {path} is empty.", hint="Delete the file; a new one is made."
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

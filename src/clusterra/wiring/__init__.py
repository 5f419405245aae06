"""The only place that knows which adapter stands behind which port."""

import getpass
import os
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import structlog

from clusterra.adapters import file_stores
from clusterra.adapters.archive_local import LocalArchive
from clusterra.adapters.clock import SystemClock
from clusterra.adapters.envelope import spelled
from clusterra.adapters.ledger_key import LedgerKey, open_key
from clusterra.adapters.memory_archive import MemoryArchive
from clusterra.adapters.memory_sender import MemorySender
from clusterra.adapters.seal import SealKey, open_seal_key
from clusterra.adapters.sqlite.store import SqliteStore
from clusterra.adapters.template_files import shipped, template_files
from clusterra.adapters.vault import LocalVault, open_vault
from clusterra.adapters.yaml_text import read_yaml
from clusterra.control.follow import Hub
from clusterra.control.people.people import People
from clusterra.control.plane import Plane
from clusterra.control.site import Site
from clusterra.control.templates.catalogue import OURS, SETTINGS, Catalogue
from clusterra.core.access import Role
from clusterra.core.errors import Invalid, Refused
from clusterra.core.people.credentials import FileKey
from clusterra.core.people.person import Workspace, ledger_of
from clusterra.core.people.rules import Rules
from clusterra.ports import (
    Archive,
    Clock,
    Mailer,
    PriceList,
    Provider,
    Sealer,
    Sender,
    Signer,
    Store,
    Vault,
)
from clusterra.settings import Settings, WorkspaceSettings
from clusterra.wiring.keys import file_keys
from clusterra.wiring.keys import read_token as read_token
from clusterra.wiring.outside import make_mailer, make_price_list, make_provider, make_sender
from clusterra.wiring.sites import jwt_keys, make_site, registered_site
from clusterra.wiring.sites import make_recorder as make_recorder

log = structlog.get_logger()


WORKSPACE = "clusterra"
"""The one there is when the settings name none."""


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
        jwt_keys=jwt_keys(settings),
        price_list=price_list,
        spelled=lambda draft, ledger: spelled(draft, cluster=ledger, at=clock.now()),
        catalogue=Catalogue(store=store, clock=clock, read=read_yaml),
        vault=vault or LocalVault(os.urandom(32)),
        sender=sender or MemorySender(),
        mailer=mailer,
        keeps=file_stores.retention_of(settings.files),
        make_site=lambda cluster: registered_site(cluster, settings, store=store, clock=clock),
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
    sites = [make_site(each, settings, store=store, clock=clock) for each in settings.clusters]
    plane = make_plane(
        settings,
        store=store,
        clock=clock,
        sites=sites,
        token=read_token(settings.server.token or state / "token"),
        keys=[key for each in settings.clusters for key in file_keys(each, state)],
        archive=LocalArchive(settings.ledger.archive or state / "ledger"),
        signer=open_key(settings.ledger.key or state / "ledger.key"),
        sealer=SealKey(
            open_seal_key(settings.server.session_key or state / "session.key"), clock=clock
        ),
        provider=make_provider(settings, clock),
        price_list=make_price_list(settings, clock),
        vault=open_vault(settings.webhooks.key or state / "webhooks.key"),
        sender=make_sender(settings),
        mailer=make_mailer(settings),
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

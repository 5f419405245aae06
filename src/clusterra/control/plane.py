"""The control plane of a process, assembled: what every door is given.

It holds what there is of each cluster and lets clusters come and go. Which device stands behind
what is in `wiring`.
"""

import os
import platform
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import structlog

from clusterra.control.automation.automations import Automations
from clusterra.control.checkpoint import Checkpointer
from clusterra.control.connect import Connect
from clusterra.control.cost.quotas import QuotaBook
from clusterra.control.diagnosis import diagnose
from clusterra.control.files.artifacts import Artifacts
from clusterra.control.files.files import Files
from clusterra.control.files.retention import Keeping
from clusterra.control.files.rooms import Rooms
from clusterra.control.files.scripts import Scripts
from clusterra.control.files.uploads import Uploads
from clusterra.control.follow import Hub
from clusterra.control.hear import Inbox
from clusterra.control.heartbeat import Heartbeats
from clusterra.control.output.follow import Follow
from clusterra.control.people.people import People
from clusterra.control.people.standing import standing
from clusterra.control.requests import Requests
from clusterra.control.site import Site
from clusterra.control.submit import Submitter
from clusterra.control.templates.catalogue import Catalogue
from clusterra.control.templates.schedules import Schedules
from clusterra.control.templates.start import Starter
from clusterra.control.webhooks.webhooks import Webhooks
from clusterra.core.clusters import REGISTERED, Registered
from clusterra.core.errors import Invalid, NotFound
from clusterra.core.events.event import Draft, Event
from clusterra.core.files.retention import Retention
from clusterra.core.ids import uuid7
from clusterra.core.jobs.diagnosis import Diagnosis
from clusterra.core.jobs.job import Job
from clusterra.core.people.credentials import FileKey
from clusterra.core.people.person import Person
from clusterra.core.quote import shown
from clusterra.ports import (
    Archive,
    Clock,
    JwtKeys,
    Mailer,
    PriceList,
    Sender,
    Signer,
    Store,
    Vault,
)
from clusterra.settings import ServerSettings, Settings

log = structlog.get_logger()


async def _nothing(_: str) -> None:
    pass


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
    signer: Signer
    people: People
    token: str
    """Of whoever runs the server."""

    jwt_keys: JwtKeys
    make_site: Callable[[Registered], Site]
    """Makes a registered cluster ready to be looked after. Raises Invalid."""

    catalogue: Catalogue
    """The recipes there are."""

    spelled: Callable[[Draft, str], Event]
    """An event as it would stand in a ledger."""

    vault: Vault
    sender: Sender
    mailer: Mailer | None = None
    """None where e-mails cannot be sent."""

    price_list: PriceList | None = None
    """What a cloud charges, where it is asked."""

    keeps: Retention = field(default_factory=Retention)
    """How long files stay until an admin says otherwise."""

    heartbeats: dict[str, Heartbeats] = field(default_factory=dict)
    connect: Connect = field(init=False)
    quotas: QuotaBook = field(init=False)
    requests: Requests = field(init=False)
    """What was submitted, to be submitted again."""

    starter: Starter = field(init=False)
    schedules: Schedules = field(init=False)
    output: Follow = field(init=False)
    """Who follows what jobs write."""
    artifacts: dict[str, Artifacts] = field(default_factory=dict)
    scripts: Scripts = field(default_factory=Scripts)
    files: Files = field(init=False)
    keeping: Keeping = field(init=False)
    """How long those stay."""

    webhooks: Webhooks = field(init=False)
    automations: Automations = field(init=False)
    begin: Callable[[Site], None] = lambda _: None
    """Start what goes on about a cluster without being asked; `end` ends it."""

    end: Callable[[str], Awaitable[None]] = _nothing

    holder: str = field(init=False)
    """Who acts, among several servers with one store: the same after a restart."""

    keys: Sequence[FileKey] = ()
    """Those that collectors and agents of this machine find in files beside the server."""

    def __post_init__(self) -> None:
        self.quotas = QuotaBook(
            store=self.store,
            clock=self.clock,
            sites=lambda: tuple(self.sites.values()),
            person_of=self.people.directory.payer_of,
        )
        self.requests = Requests(
            store=self.store,
            vault=self.vault,
            clock=self.clock,
            keep_days=self.settings.jobs.keep_requests_days,
        )
        self.starter = Starter(
            catalogue=self.catalogue,
            store=self.store,
            clock=self.clock,
            new_run_id=self._new_run_id,
        )
        self.schedules = Schedules(
            store=self.store,
            clock=self.clock,
            starter=self.starter,
            submitters=self.submitters,
            owner_of=partial(standing, self.people),
        )
        self.output = Follow(store=self.store, hub=self.hub)
        self.people.directory.watch(self.output.look_again)
        self.files = Files(
            store=self.store,
            clock=self.clock,
            multipart_above=self.settings.files.multipart_mb * 1_000_000,
            uid_of=self.people.directory.uid_of,
            uploads=Uploads(store=self.store, clock=self.clock),
        )
        self.keeping = Keeping(store=self.store, clock=self.clock, default=self.keeps)
        self.connect = Connect(ground=self, people=self.people, clock=self.clock)
        self.holder = f"{platform.node()}:{self.settings.server.state.absolute()}"
        self.webhooks = Webhooks(
            store=self.store,
            clock=self.clock,
            people=self.people,
            vault=self.vault,
            sender=self.sender,
            mailer=self.mailer,
            settings=self.settings.webhooks,
            console=_console(self.settings.server),
            holder=self.holder,
            sites=lambda: self.sites,
            zone_of=self._zone_of,
            diagnose=self._diagnosed,
            spelled=self.spelled,
        )
        self.automations = Automations(
            store=self.store,
            clock=self.clock,
            people=self.people,
            requests=self.requests,
            sites=lambda: self.sites,
            submitters=self.submitters,
            starter=self.starter,
            holder=self.holder,
            notify=self.webhooks.notify,
        )

    @property
    def is_open(self) -> bool:
        return self.people.is_open

    async def open(self) -> None:
        """Read what there is, before anybody is let in; once."""
        if self.is_open:
            return
        await self.bring_back()
        await self.webhooks.endpoints.load()
        await self.automations.rules.load()
        await self.catalogue.load()
        # Last: whoever comes is let in from then on.
        await self.people.open(self.keys)

    async def bring_back(self) -> None:
        """Look after the clusters that were registered before this start."""
        for record in await self.store.list(REGISTERED):
            if record.id not in self.sites:
                try:
                    self.add(self.make_site(record.value), record.value.workspace)
                except Invalid as error:
                    log.warning("cluster.left_out", cluster=record.id, why=error.detail)

    def hush(self) -> None:
        """Let go of everybody who listens or waits: the server is about to stop."""
        self.hub.close()
        self.output.close()
        for site in self.sites.values():
            site.edge.close()

    def add(self, site: Site, workspace: str) -> None:
        """Give a cluster all that every cluster has."""
        id, store, clock = site.cluster.id, self.store, self.clock
        site.workspace = self.people.clusters[id] = workspace
        site.recorder.actor_of = self.people.directory.actor_of
        site.meter.person_of = self.people.directory.payer_of
        if site.files is not None:
            site.logins = Rooms(
                logins=site.logins, files=site.files, email_of=partial(self._email_of, site)
            )
        self.artifacts[id] = Artifacts(site=site, store=store, clock=clock)
        site.recorder.left_behind = self.artifacts[id].ended
        # Another dictionary, so that whoever goes through the old one is not disturbed.
        self.sites = self.sites | {id: site}
        self.submitters[id] = Submitter(
            site=site,
            store=store,
            clock=clock,
            new_run_id=self._new_run_id,
            uid_of=self.people.directory.uid_of,
            admit=partial(self.quotas.admit, site),
            let_go=self.quotas.let_go,
            keep=self.requests.kept,
            given=lambda _: self._told(id),
        )
        self.inboxes[id] = Inbox(site=site, store=store, clock=clock)
        self.heartbeats[id] = Heartbeats(site=site, clock=clock)
        self.add_ledger(id)

    def add_ledger(self, id: str) -> None:
        self.ledgers[id] = Checkpointer(
            cluster=id,
            store=self.store,
            archive=self.archive,
            signer=self.signer,
            clock=self.clock,
        )

    async def look_after(self, site: Site, workspace: str) -> None:
        self.add(site, workspace)
        await self.ledgers[site.cluster.id].open()
        self.begin(site)

    async def let_go(self, cluster: str) -> None:
        site = self.sites[cluster]
        self.sites = {id: each for id, each in self.sites.items() if id != cluster}
        site.edge.close()
        await self.end(cluster)
        await self.submitters.pop(cluster).settle()
        await self.ledgers.pop(cluster).sign_if_possible()
        await site.slurm.close()
        await site.logs.close()
        if site.files is not None:
            await site.files.close()
        for known in (self.inboxes, self.heartbeats, self.people.clusters, self.artifacts):
            known.pop(cluster)

    def _new_run_id(self) -> str:
        return uuid7(self.clock.now(), os.urandom(10))

    def _email_of(self, site: Site, login: str) -> str:
        """Return whose files the jobs of a Linux user see; empty if that is nobody we know."""
        person = self.people.directory.by_login(login)
        if person is None and login == site.user:
            person = self.people.operator
        return person.email if person else ""

    def _told(self, cluster: str) -> Mapping[str, str]:
        """Return what jobs of a cluster find in their environment: where to ask, and as what."""
        found = {"CLUSTERRA_CLUSTER_ID": cluster}
        if url := _console(self.settings.server):
            found["CLUSTERRA_API"] = url
        return found

    async def _zone_of(self, person: Person, workspace: str) -> str:
        """Return where somebody reads times: as they said, or as their workspace counts days."""
        return person.preferences.get("zone") or (await self.quotas.of(workspace)).zone

    async def _diagnosed(self, site: Site, job: Job) -> Diagnosis:
        """Say why a job failed, to whoever may know that it did; nothing that it wrote is repeated."""
        return await diagnose(
            site, job, None, store=self.store, requests=self.requests, clock=self.clock
        )

    def site(self, id: str) -> Site:
        try:
            return self.sites[id]
        except KeyError:
            raise no_such_cluster(id) from None

    def cluster_in(self, workspace: str, text: str, *, at: str) -> str:
        """Return the id of a workspace's cluster that is called so, or has that id."""
        for id, site in self.sites.items():
            if site.workspace == workspace and text in (id, site.cluster.name):
                return id
        raise NotFound(
            f"{workspace} has no cluster {shown(text)}.",
            hint="`clusterra clusters list` shows those you have.",
            code="cluster-not-found",
            at=at,
        )


def _console(server: ServerSettings) -> str:
    """Return where people reach the server, for links; empty if only the listener will know."""
    if server.url or not server.port:
        return server.url
    host = "127.0.0.1" if server.host in ("0.0.0.0", "::") else server.host
    return f"http://{host}:{server.port}"


def no_such_cluster(id: str) -> NotFound:
    return NotFound(
        f"There is no cluster {id[:64]!r} here.",
        hint="`clusterra clusters list` shows those you have.",
        code="cluster-not-found",
    )

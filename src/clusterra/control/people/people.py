"""The people of one server, and everything that is done with them, put together.

`open` reads them from the store and sees to it that there is somebody to begin with:
every workspace of the settings exists, and one that has no owner gets whoever runs the
server as its owner.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from clusterra.control.people.device import Devices
from clusterra.control.people.directory import Directory
from clusterra.control.people.doing import SYSTEM, Doer
from clusterra.control.people.keys import Keys
from clusterra.control.people.links import Links
from clusterra.control.people.roster import Roster
from clusterra.control.people.sessions import Sessions
from clusterra.control.people.sign_in import SignIn
from clusterra.control.people.tokens import Tokens
from clusterra.control.people.uses import Uses
from clusterra.core.access import Role
from clusterra.core.change import Record
from clusterra.core.errors import Invalid
from clusterra.core.people.credentials import FileKey, hash_of
from clusterra.core.people.email import read_email
from clusterra.core.people.logins import check_login
from clusterra.core.people.person import WORKSPACE, Person, Workspace, ledger_of, workspace_of
from clusterra.core.people.rules import Rules
from clusterra.ports import Clock, Provider, Sealer, Store

FROM_FILE = "in the key file"
"""What a cluster's key is called that stands in a file beside the server."""

_ITSELF = Doer(actor=SYSTEM, role=Role.OWNER)


@dataclass(slots=True, kw_only=True)
class People:
    store: Store
    clock: Clock
    sealer: Sealer
    provider: Provider | None
    workspaces: Sequence[Workspace]
    """Those of the settings; the first is the server's own."""

    rules: Sequence[Rules]
    clusters: dict[str, str]
    """The workspace of each cluster; it changes as clusters are added and removed."""

    operator_email: str
    operator_login: str

    directory: Directory = field(init=False)
    roster: Roster = field(init=False)
    sessions: Sessions = field(init=False)
    links: Links = field(init=False)
    sign_in: SignIn = field(init=False)
    devices: Devices = field(init=False)
    tokens: Tokens = field(init=False)
    keys: Keys = field(init=False)
    uses: Uses = field(init=False)
    is_open: bool = field(default=False, init=False)
    _opening: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    def __post_init__(self) -> None:
        clock = self.clock
        self.directory = directory = Directory(self.store, self.home)
        self.roster = Roster(directory=directory, clock=clock, clusters=self.clusters)
        self.sessions = Sessions(directory=directory, sealer=self.sealer, clock=clock)
        self.links = Links(directory=directory, sessions=self.sessions, clock=clock)
        self.sign_in = SignIn(
            roster=self.roster,
            sessions=self.sessions,
            sealer=self.sealer,
            clock=clock,
            provider=self.provider,
            rules=self.rules,
        )
        self.devices = Devices(directory=directory, sessions=self.sessions, clock=clock)
        self.tokens = Tokens(directory=directory, clock=clock)
        self.keys = Keys(directory=directory, clock=clock)
        self.uses = Uses(directory=directory, clock=clock, workspace_of=self.clusters)

    @property
    def operator(self) -> Person:
        """Whoever runs the server."""
        person = self.directory.by_email(self.operator_email)
        assert person is not None
        return person

    @property
    def home(self) -> str:
        """The server's own workspace."""
        return self.workspaces[0].id

    def ledgers_of(self, workspace: str) -> list[str]:
        """Return the ledgers of a workspace: its clusters', and its own."""
        mine = [id for id, whose in self.clusters.items() if whose == workspace]
        return [*mine, ledger_of(workspace)]

    def workspace_of(self, ledger: str) -> str:
        """Return whose ledger it is; nobody's if its cluster is looked after no more."""
        return self.clusters.get(ledger, "") if "/" not in ledger else workspace_of(ledger)

    async def open(self, file_keys: Iterable[FileKey]) -> None:
        """Read who there is; the first time, begin."""
        async with self._opening:
            if self.is_open:
                return
            await self.directory.load()
            await self._ensure_workspaces()
            await self._ensure_owners()
            for each in file_keys:
                await self._ensure_key(each)
            self.is_open = True

    async def _ensure_workspaces(self) -> None:
        known = {each.id for each in self.directory.workspaces}
        for workspace in self.workspaces:
            if workspace.id not in known:
                record = Record(kind=WORKSPACE, id=workspace.id, value=workspace)
                await self.directory.commit(workspace.id, puts=[record])

    async def _ensure_owners(self) -> None:
        self.operator_email = read_email(self.operator_email, at="server.owner")
        if self.directory.by_email(self.operator_email) is None:
            await self.roster.make(self.operator_email, login=self._operators_login())
        for workspace in self.workspaces:
            if not self.directory.owners(workspace.id):
                place = self.directory.membership(workspace.id, self.operator.id)
                give = self.roster.change_role if place else self.roster.invite
                await give(workspace.id, self.operator_email, Role.OWNER, by=_ITSELF)

    def _operators_login(self) -> str:
        """Return the Linux user that the clusters know the operator by, if a person can be it."""
        try:
            login = check_login(self.operator_login)
        except Invalid:
            return ""
        return "" if self.directory.is_login_taken(login) else login

    async def _ensure_key(self, given: FileKey) -> None:
        """Let in whoever has the key in the file, and nobody who has an older one."""
        cluster, hash = given.cluster, hash_of(given.secret)
        workspace = self.clusters[cluster]
        here = [
            each
            for each in self.directory.keys_of(cluster)
            if each.name == FROM_FILE and each.use is given.use
        ]
        if self.directory.key(hash) is None:
            await self.keys.keep(
                cluster, workspace, given.secret, name=FROM_FILE, by=_ITSELF, use=given.use
            )
        for old in here:
            if old.hash != hash:
                await self.keys.revoke(cluster, workspace, old.id, by=_ITSELF)

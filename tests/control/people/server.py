"""The people of a server with two workspaces and one cluster, and a provider in memory."""

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import msgspec

from clusterra.adapters.memory import ManualClock, MemoryStore
from clusterra.adapters.seal import SealKey
from clusterra.control.people.doing import Doer, Visit
from clusterra.control.people.people import People
from clusterra.control.people.sessions import Opened
from clusterra.core.access import ALL_SCOPES, Role
from clusterra.core.errors import Unauthenticated
from clusterra.core.events.event import Event, EventQuery
from clusterra.core.people.credentials import FileKey, KeyUse, Token
from clusterra.core.people.person import Person, Workspace, ledger_of
from clusterra.core.people.rules import Rules
from clusterra.ports import Claims, Store
from tests.builders import NOON

HOME, BIO = "lab", "bio"
"""The server's own workspace is not the first by name."""

CLUSTER = "cluslab1"
OWNER_EMAIL = "olga@lab.example"
FILE_KEY = "clk_from-a-file"
ISSUER = "https://sso.example"
DESK = Visit(address="192.0.2.7", agent="Firefox")
OWNER = Doer(actor=f"user:{OWNER_EMAIL}", role=Role.OWNER, visit=DESK)
ADMIN = Doer(actor="user:adam@lab.example", role=Role.ADMIN, visit=DESK)


class MemoryProvider:
    """Takes each code once, from whoever has the verifier and nonce that were sent before."""

    name = "Lab SSO"

    def __init__(self) -> None:
        self.coming: dict[str, Claims] = {}
        self._sent: list[tuple[str, str]] = []

    async def sign_in_url(
        self, *, state: str, nonce: str, verifier: str, redirect_uri: str, another: bool = False
    ) -> str:
        self._sent.append((verifier, nonce))
        asked = {"state": state, "redirect_uri": redirect_uri}
        return f"{ISSUER}/authorize?{urlencode(asked | ({'prompt': 'login'} if another else {}))}"

    async def redeem(self, code: str, *, verifier: str, nonce: str, redirect_uri: str) -> Claims:
        if (verifier, nonce) not in self._sent or code not in self.coming:
            raise Unauthenticated("The provider does not take this code.", code="code-refused")
        return self.coming.pop(code)

    async def sign_out_url(self, *, id_token: str, back_to: str) -> str:
        return f"{ISSUER}/logout?{urlencode({'id_token_hint': id_token, 'to': back_to})}"

    async def close(self) -> None: ...


def claims(email: str, subject: str = "", *groups: str) -> Claims:
    return Claims(
        issuer=ISSUER,
        subject=subject or email.partition("@")[0],
        email=email,
        groups=groups,
        id_token=f"id-token-of-{email}",
    )


@dataclass
class Server:
    store: Store = field(default_factory=MemoryStore)
    rules: tuple[Rules, ...] = ()
    clock: ManualClock = field(default_factory=lambda: ManualClock(NOON))
    provider: MemoryProvider | None = field(default_factory=MemoryProvider)
    operator_login: str = "olga"
    operator_email: str = OWNER_EMAIL
    file_key: str = FILE_KEY

    def __post_init__(self) -> None:
        self.people = People(
            store=self.store,
            clock=self.clock,
            sealer=SealKey(bytes(range(32)), clock=self.clock),
            provider=self.provider,
            workspaces=[Workspace(id=HOME, name="Lab"), Workspace(id=BIO, name="Biology")],
            rules=self.rules,
            clusters={CLUSTER: HOME},
            operator_email=self.operator_email,
            operator_login=self.operator_login,
        )
        self.directory = self.people.directory
        self.roster = self.people.roster
        self.sign_in = self.people.sign_in
        self.sessions = self.people.sessions
        self.links = self.people.links

    async def open(self) -> "Server":
        await self.people.open(
            [FileKey(cluster=CLUSTER, use=KeyUse.COLLECTOR, secret=self.file_key)]
        )
        return self

    async def restarted(self, **changed: Any) -> "Server":
        """Return the server after it died and began again: the same store, nothing in mind."""
        kept: dict[str, Any] = {"store": self.store, "rules": self.rules, "clock": self.clock}
        return await Server(**(kept | changed)).open()

    async def invited(
        self, email: str, role: Role = Role.MEMBER, *, workspace: str = HOME
    ) -> Person:
        return await self.roster.invite(workspace, email, role, by=OWNER)

    async def token_of(self, person: Person, *, within: str = "") -> tuple[str, Token]:
        return await self.people.tokens.make(
            person, name="laptop", scopes=ALL_SCOPES, within=within, until=None, by=OWNER
        )

    async def signed_in(self, person: Person, *, within: str = "") -> Opened:
        return await self.sessions.open(person, how="link", visit=DESK, within=within)

    async def events(self, *types: str, ledger: str = HOME) -> list[Event]:
        return list(
            await self.store.events(ledger_of(ledger), EventQuery(types=types, limit=10_000))
        )

    async def told(self, *types: str, ledger: str = HOME) -> list[dict[str, Any]]:
        """Return what the events of a ledger say, with who did it."""
        return [
            msgspec.json.decode(event.body)["data"] | {"actor": event.actor, "type": event.type}
            for event in await self.events(*types, ledger=ledger)
        ]

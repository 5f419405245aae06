"""Who there is and what lets them in, in memory: asked at every request, without a query.

Loaded once. Every change goes through `commit`, which writes it, with its events, and
only then shows it here; whoever watches is told, so that streams of somebody who has
just been removed end at once. Where somebody else was quicker, all is read anew.
"""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypeVar

from clusterra.core.access import Role
from clusterra.core.change import Change, Kind, Record
from clusterra.core.errors import Conflict, NotFound
from clusterra.core.events.event import Draft
from clusterra.core.people.credentials import (
    CLUSTER_KEY,
    SESSION,
    TOKEN,
    ClusterKey,
    Session,
    Token,
)
from clusterra.core.people.person import (
    MEMBERSHIP,
    PERSON,
    WORKSPACE,
    Identity,
    Membership,
    Person,
    Workspace,
    ledger_of,
    membership_id,
)
from clusterra.ports import Store

T = TypeVar("T")

TRIES = 20
"""How often something is begun again because somebody else was quicker."""

_KINDS: tuple[Kind[Any], ...] = (PERSON, WORKSPACE, MEMBERSHIP, SESSION, TOKEN, CLUSTER_KEY)


@dataclass(slots=True)
class Directory:
    store: Store
    home: str
    """The server's own workspace: what is nobody's is told in its ledger."""

    _records: dict[str, dict[str, Record[Any]]] = field(
        default_factory=lambda: {kind.name: {} for kind in _KINDS}
    )
    _by_email: dict[str, str] = field(default_factory=dict)
    _by_login: dict[str, str] = field(default_factory=dict)
    _by_identity: dict[Identity, str] = field(default_factory=dict)
    _by_hash: dict[str, Token] = field(default_factory=dict)
    _key_by_hash: dict[str, ClusterKey] = field(default_factory=dict)
    _watchers: list[Callable[[], None]] = field(default_factory=list)
    _changes: int = 0
    """Shown here so far."""

    async def load(self) -> None:
        """Read all that there is, and forget what is there no more."""
        while True:
            changes = self._changes
            found = [record for kind in _KINDS for record in await self.store.list(kind)]
            if changes == self._changes:
                break
            # What was shown meanwhile is newer than what was read: a token that has just been
            # revoked would be good again.
        for known in (*self._records.values(), *self._indexes()):
            known.clear()
        for record in found:
            self._show(record)
        self._tell()

    async def commit(
        self,
        workspace: str,
        *,
        puts: Sequence[Record[Any]] = (),
        drops: Sequence[Record[Any]] = (),
        events: Sequence[Draft] = (),
    ) -> None:
        """Write a change of people into the store, its events into a workspace's ledger, and show it."""
        try:
            change = Change(puts=puts, drops=drops, events=events)
            await self.store.commit(ledger_of(workspace), change)
        except Conflict:
            await self.load()
            raise
        self._changes += 1
        for drop in drops:
            if drop.kind.name in self._records:
                self._hide(drop)
        for put in puts:
            if put.kind.name in self._records:
                self._show(replace(put, version=put.version + 1))
        self._tell()

    async def commit_to(
        self,
        workspaces: Sequence[str],
        *,
        puts: Sequence[Record[Any]] = (),
        drops: Sequence[Record[Any]] = (),
        events: Sequence[Draft] = (),
    ) -> None:
        """Write a change once, and its events into the ledger of each of these workspaces."""
        first, *others = workspaces
        await self.commit(first, puts=puts, drops=drops, events=events)
        for other in others if events else ():
            await self.commit(other, events=events)

    async def again(self, act: Callable[[], Awaitable[T]]) -> T:
        """Do what looks here and then commits; look again if somebody else was quicker."""
        for _ in range(TRIES - 1):
            try:
                return await act()
            except Conflict:
                continue
        return await act()

    def watch(self, told: Callable[[], None]) -> None:
        """Call `told` after every change."""
        self._watchers.append(told)

    def _tell(self) -> None:
        for told in self._watchers:
            told()

    # --- people

    def person(self, id: str) -> Person | None:
        return self._value(PERSON, id)

    def by_email(self, email: str) -> Person | None:
        return self.person(self._by_email.get(email, ""))

    def by_login(self, login: str) -> Person | None:
        return self.person(self._by_login.get(login, ""))

    def by_identity(self, identity: Identity) -> Person | None:
        return self.person(self._by_identity.get(identity, ""))

    def is_login_taken(self, login: str) -> bool:
        return login in self._by_login

    def actor_of(self, login: str) -> str:
        """Return how the ledger names the person who is this Linux user."""
        person = self.by_login(login)
        return person.actor if person else f"user:{login}"

    def payer_of(self, login: str) -> str:
        """Return to whom what this Linux user runs is put down."""
        person = self.by_login(login)
        return person.email if person else login

    def uid_of(self, login: str) -> int | None:
        person = self.by_login(login)
        return person.uid if person else None

    # --- workspaces

    @property
    def workspaces(self) -> list[Workspace]:
        """All there are: the server's own first, the others by id."""
        return sorted(self._values(WORKSPACE), key=lambda each: (each.id != self.home, each.id))

    def workspace(self, id: str) -> Workspace:
        found = self._value(WORKSPACE, id)
        if found is None:
            raise no_such_workspace(id)
        return found

    def has_workspace(self, id: str) -> bool:
        return id in self._records[WORKSPACE.name]

    def membership(self, workspace: str, person: str) -> Membership | None:
        return self._value(MEMBERSHIP, membership_id(workspace, person))

    def members(self, workspace: str) -> list[Membership]:
        return [each for each in self._values(MEMBERSHIP) if each.workspace == workspace]

    def workspaces_of(self, person: str) -> list[Membership]:
        return [each for each in self._values(MEMBERSHIP) if each.person == person]

    def is_in(self, person: str, within: str) -> bool:
        """Say whether somebody is in a workspace; in any, if none is named."""
        if within:
            return self.membership(within, person) is not None
        return bool(self.workspaces_of(person))

    def concerned(self, person: str, within: str = "") -> list[str]:
        """Return which workspaces hear of what somebody does: the one they were let into, or all
        of theirs; the server's own, of somebody who is nowhere."""
        mine = [within] if within else [each.workspace for each in self.workspaces_of(person)]
        return mine or [self.home]

    def owners(self, workspace: str) -> list[Membership]:
        return [each for each in self.members(workspace) if each.role is Role.OWNER]

    # --- what lets them in

    def session(self, id: str) -> Session | None:
        return self._value(SESSION, id)

    def sessions_of(self, person: str) -> list[Session]:
        return [each for each in self._values(SESSION) if each.person == person]

    def token(self, hash: str) -> Token | None:
        return self._by_hash.get(hash)

    def has_token(self, id: str) -> bool:
        return id in self._records[TOKEN.name]

    def tokens_of(self, person: str) -> list[Token]:
        return [each for each in self._values(TOKEN) if each.person == person]

    def key(self, hash: str) -> ClusterKey | None:
        return self._key_by_hash.get(hash)

    def keys_of(self, cluster: str) -> list[ClusterKey]:
        return [each for each in self._values(CLUSTER_KEY) if each.cluster == cluster]

    def expired_sessions(self, now: datetime) -> list[Record[Session]]:
        records: Iterator[Record[Session]] = iter(self._records[SESSION.name].values())
        return [record for record in records if record.value.expires_at <= now]

    # --- records

    def record(self, kind: Kind[T], id: str) -> Record[T]:
        """Return the record of something that is known to be there."""
        found: Record[T] = self._records[kind.name][id]
        return found

    def _value(self, kind: Kind[T], id: str) -> T | None:
        record = self._records[kind.name].get(id)
        return None if record is None else record.value

    def _values(self, kind: Kind[T]) -> Iterator[T]:
        return (record.value for record in self._records[kind.name].values())

    def _indexes(self) -> Sequence[dict[Any, Any]]:
        return (
            self._by_email,
            self._by_login,
            self._by_identity,
            self._by_hash,
            self._key_by_hash,
        )

    def _show(self, record: Record[Any]) -> None:
        self._hide(record)
        self._records[record.kind.name][record.id] = record
        value = record.value
        match value:
            case Person():
                self._by_email[value.email] = value.id
                self._by_login[value.login] = value.id
                if value.identity:
                    self._by_identity[value.identity] = value.id
            case Token():
                self._by_hash[value.hash] = value
            case ClusterKey():
                self._key_by_hash[value.hash] = value

    def _hide(self, record: Record[Any]) -> None:
        old = self._records[record.kind.name].pop(record.id, None)
        match old.value if old else None:
            case Person() as person:
                self._by_email.pop(person.email, None)
                self._by_login.pop(person.login, None)
                if person.identity:
                    self._by_identity.pop(person.identity, None)
            case Token() as token:
                self._by_hash.pop(token.hash, None)
            case ClusterKey() as key:
                self._key_by_hash.pop(key.hash, None)


def no_such_workspace(id: str) -> NotFound:
    return NotFound(
        f"There is no workspace {id[:64]!r} here.",
        hint="`clusterra whoami` shows yours.",
        code="workspace-not-found",
    )

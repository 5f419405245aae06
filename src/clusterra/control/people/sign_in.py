"""Sign in, stay signed in, sign out.

By the identity provider (`begin`, `finish`), by a one-time link where there is none, or
by letting a terminal in (`device`). However somebody came, they have a session: an
access token that is good for minutes and checked without asking anybody, and a refresh
token that is good once. One that is used twice was stolen; the session ends.
"""

import hmac
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import NoReturn

from clusterra.control.people.directory import Directory
from clusterra.control.people.doing import SYSTEM, Visit, told
from clusterra.control.people.drawn import new_id, new_secret
from clusterra.control.people.roster import Roster
from clusterra.core.change import Change, Record
from clusterra.core.errors import ClusterraError, Conflict, NotFound, Refused, Unauthenticated
from clusterra.core.events import catalogue as facts
from clusterra.core.events.fact import Fact
from clusterra.core.people.credentials import (
    ACCESS_FOR,
    LINK,
    LINK_FOR,
    SESSION,
    SESSION_FOR,
    TWO_TABS,
    Link,
    Session,
    hash_of,
)
from clusterra.core.people.person import Person
from clusterra.core.people.rules import Rules
from clusterra.ports import Claims, Clock, Provider, Sealer

ACCESS = "access"
REFRESH = "refresh"
SIGNING_IN = "signing-in"
"""Kinds of sealed text: the two tokens of a session, and what a browser keeps while it is away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A session as it is handed to whoever signed in: the only moment its secrets are known."""

    session: Session
    person: Person
    access: str
    access_until: datetime
    refresh: str
    """Empty when another tab has just been given a new one."""

    to: str = "/"
    """Where the browser wanted to go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Away:
    """A browser on its way to the provider."""

    url: str
    kept: str
    """What it keeps, sealed, to show that it was this browser that left."""


@dataclass(slots=True, kw_only=True)
class SignIn:
    directory: Directory
    roster: Roster
    sealer: Sealer
    clock: Clock
    provider: Provider | None = None
    rules: Sequence[Rules] = ()

    # --- by the provider

    async def begin(self, *, to: str, redirect_uri: str) -> Away:
        provider = self._provider()
        state, nonce, verifier = new_secret(), new_secret(), new_secret()
        url = await provider.sign_in_url(
            state=state, nonce=nonce, verifier=verifier, redirect_uri=redirect_uri
        )
        kept = {"state": state, "nonce": nonce, "verifier": verifier, "to": to}
        return Away(
            url=url, kept=self.sealer.seal(SIGNING_IN, kept, until=self.clock.now() + LINK_FOR)
        )

    async def finish(
        self, *, code: str, state: str, kept: str, redirect_uri: str, visit: Visit
    ) -> Opened:
        provider = self._provider()
        claims: Claims | None = None
        try:
            left = self._left(kept, state)
            claims = await provider.redeem(
                code, verifier=left["verifier"], nonce=left["nonce"], redirect_uri=redirect_uri
            )
            person = await self.roster.come(claims, self.rules)
        except ClusterraError as error:
            await self.failed(error, visit, how="oidc", email=claims.email if claims else "")
            raise
        opened = await self.open(person, how="oidc", visit=visit, id_token=claims.id_token)
        return replace(opened, to=left["to"])

    async def turned_back(
        self, *, error: str, description: str, state: str, kept: str, visit: Visit
    ) -> NoReturn:
        """Raise why the provider sent a browser back without having signed anybody in."""
        try:
            # First: else anybody's link could have this server say what they like.
            self._left(kept, state)
            raise _turned_back(self._provider().name, error, description)
        except Unauthenticated as refusal:
            await self.failed(refusal, visit, how="oidc")
            raise

    def _left(self, kept: str, state: str) -> dict[str, str]:
        """Return what this browser left with; raise if it is not the one that left."""
        try:
            left = dict(self.sealer.opened(SIGNING_IN, kept))
        except Unauthenticated:
            left = {}
        if not left or not hmac.compare_digest(left["state"].encode(), state.encode()):
            raise Unauthenticated(
                "This sign-in was not begun in this browser, or more than 10 minutes ago.",
                hint="Begin again, and finish in the same browser.",
                code="bad-state",
            )
        return left

    # --- by a link

    async def make_link(self, person: Person, *, within: str, made_by: str, until: datetime) -> str:
        """Return the code of a new one-time link."""
        code = new_secret()
        link = Link(person=person.id, within=within, expires_at=until, made_by=made_by)
        await self.directory.commit(
            self._ledger(person), puts=[Record(kind=LINK, id=hash_of(code), value=link)]
        )
        return code

    async def link_owner(self, code: str) -> Person:
        """Return who a link is for, without using it; raise if it is no longer good."""
        return (await self._link(code))[1]

    async def by_link(self, code: str, *, visit: Visit) -> Opened:
        try:
            record, person = await self._link(code)
            await self._use(record)
        except ClusterraError as error:
            await self.failed(error, visit, how="link")
            raise
        return await self.open(person, how="link", visit=visit, within=record.value.within)

    async def _link(self, code: str) -> tuple[Record[Link], Person]:
        empty = Link(person="", expires_at=datetime.min.replace(tzinfo=self.clock.now().tzinfo))
        record = await self.directory.store.get(LINK, hash_of(code), default=empty)
        link, person = record.value, self.directory.person(record.value.person)
        if person is None or link.expires_at <= self.clock.now():
            raise _link_used()
        if not self.directory.is_in(person.id, link.within):
            raise _link_used()  # they have been removed since
        return record, person

    async def _use(self, record: Record[Link]) -> None:
        """Drop a link at the version it was read at: of two who come at once, one is let in."""
        try:
            await self.directory.store.commit(self.directory.home, Change(drops=[record]))
        except Conflict:
            raise _link_used() from None

    # --- sessions

    async def open(
        self, person: Person, *, how: str, visit: Visit, within: str = "", id_token: str = ""
    ) -> Opened:
        now = self.clock.now()
        session = Session(
            id=new_id("ses_", now),
            person=person.id,
            rotated_at=now,
            since=now,
            expires_at=now + SESSION_FOR,
            within=within,
            how=how,
            agent=visit.agent,
            address=visit.address,
            id_token=id_token,
        )
        fact = facts.UserLogin(
            email=person.email, address=visit.address, agent=visit.agent, how=how
        )
        await self._tell(
            person, fact, puts=[Record(kind=SESSION, id=session.id, value=session)], within=within
        )
        return self._opened(session, person)

    async def refresh(self, token: str, *, visit: Visit) -> Opened:
        """Take a refresh token and give another; end the session if it was used before."""
        shown = self.sealer.opened(REFRESH, token)
        sid, generation = shown["sid"], int(shown["generation"])
        # Two tabs that ask in the same moment: the second begins again, and is known for one.
        return await self.directory.again(partial(self._rotate, sid, generation, visit))

    async def _rotate(self, sid: str, generation: int, visit: Visit) -> Opened:
        session = self.directory.session(sid)
        person = self.directory.person(session.person) if session else None
        if session is None or person is None:
            raise _ended()
        now = self.clock.now()
        if generation == session.generation:
            rotated = replace(
                session,
                generation=generation + 1,
                rotated_at=now,
                expires_at=now + SESSION_FOR,
            )
            record = self.directory.record(SESSION, session.id)
            await self.directory.commit(self._ledger(person), puts=[replace(record, value=rotated)])
            return self._opened(rotated, person)
        if generation == session.generation - 1 and now - session.rotated_at < TWO_TABS:
            return replace(self._opened(session, person), refresh="")
        await self.end(session, why="refresh-token-reused", actor=SYSTEM, visit=visit)
        raise _ended()

    async def end(self, session: Session, *, why: str, actor: str, visit: Visit) -> None:
        """End a session; nothing that it was given is good any more."""
        await self.directory.again(partial(self._end, session, why, actor, visit))

    async def _end(self, session: Session, why: str, actor: str, visit: Visit) -> None:
        if self.directory.session(session.id) is None:
            return  # ended meanwhile
        person = self.directory.person(session.person)
        assert person is not None
        fact = facts.UserLogout(
            email=person.email,
            address=visit.address,
            agent=visit.agent,
            how=session.how,
            why=why,
        )
        record = self.directory.record(SESSION, session.id)
        await self._tell(person, fact, drops=[record], actor=actor, within=session.within)

    async def sign_out_url(self, session: Session, *, back_to: str) -> str:
        if self.provider is None or not session.id_token:
            return ""
        try:
            return await self.provider.sign_out_url(id_token=session.id_token, back_to=back_to)
        except ClusterraError:
            return ""  # they are signed out here; the provider cannot be asked at the moment

    def session_of(self, access: str) -> Session:
        """Return whose access token this is; raise Unauthenticated if it lets nobody in."""
        session = self.directory.session(self.sealer.opened(ACCESS, access)["sid"])
        if session is None:
            raise _ended()
        return session

    async def failed(
        self, error: ClusterraError, visit: Visit, *, how: str, email: str = ""
    ) -> None:
        """Put a sign-in that was refused into the ledger of whoever it concerns."""
        if not isinstance(error, Unauthenticated | Refused) and error.code not in _REFUSALS:
            return
        person = self.directory.by_email(email.lower())
        fact = facts.UserLoginFailed(
            email=email, address=visit.address, agent=visit.agent, how=how, why=error.code
        )
        subject = f"user/{person.email}" if person else "sign-in"
        draft = told(fact, actor=SYSTEM, subject=subject, at=self.clock.now())
        for ledger in self._ledgers(person):
            await self.directory.commit(ledger, events=[draft])

    def _opened(self, session: Session, person: Person) -> Opened:
        until = self.clock.now() + ACCESS_FOR
        content = {"sid": session.id, "sub": person.id}
        numbered = {"sid": session.id, "generation": str(session.generation)}
        return Opened(
            session=session,
            person=person,
            access=self.sealer.seal(ACCESS, content, until=until),
            access_until=until,
            refresh=self.sealer.seal(REFRESH, numbered, until=session.expires_at),
        )

    async def _tell(
        self,
        person: Person,
        fact: Fact,
        *,
        puts: Sequence[Record[Session]] = (),
        drops: Sequence[Record[Session]] = (),
        actor: str = "",
        within: str = "",
    ) -> None:
        """Change a session and tell every workspace that the person is in."""
        draft = told(
            fact,
            actor=actor or person.actor,
            subject=f"user/{person.email}",
            at=self.clock.now(),
        )
        first, *others = [within] if within else self._ledgers(person)
        await self.directory.commit(first, puts=puts, drops=drops, events=[draft])
        for ledger in others:
            await self.directory.commit(ledger, events=[draft])

    def _ledgers(self, person: Person | None) -> list[str]:
        """Return the workspaces whom it concerns; the server's first one, if it is nobody's."""
        mine = self.directory.workspaces_of(person.id) if person else []
        return [each.workspace for each in mine] or [self.directory.home]

    def _ledger(self, person: Person) -> str:
        return self._ledgers(person)[0]

    def _provider(self) -> Provider:
        if self.provider is None:
            raise NotFound(
                "This server has no identity provider.",
                hint="People sign in by one-time links here: `clusterra people link` makes one.",
                code="no-provider",
            )
        return self.provider


_REFUSALS = frozenset({"not-invited", "email-of-another", "email"})


def _link_used() -> Unauthenticated:
    return Unauthenticated(
        "This sign-in link has been used, or its time is over.",
        hint="Get a new one: `clusterra people link` for yourself, or ask an admin.",
        code="link-used",
    )


def _turned_back(provider: str, error: str, description: str) -> Unauthenticated:
    if error == "access_denied" and not description:
        return Unauthenticated(
            f"Signing in was cancelled at {provider}.",
            hint="You can begin again at any time.",
            code="provider-refused",
        )
    return Unauthenticated(
        f"{provider} did not sign you in: {(description or error)[:200].rstrip('.')}.",
        hint="Try again; if it stays so, show this to whoever runs the provider.",
        code="provider-refused",
    )


def _ended() -> Unauthenticated:
    return Unauthenticated(
        "This session has ended.", hint="Sign in again: clusterra login", code="session-ended"
    )

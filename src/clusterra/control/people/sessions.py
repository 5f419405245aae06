"""Stay signed in, and no longer.

However somebody came (`sign_in`, `links`, `device`), they have a session: an access
token that is good for minutes and checked without asking anybody, and a refresh token
that is good once. One that is used twice was stolen; the session ends.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from clusterra.control.people.directory import Directory
from clusterra.control.people.doing import SYSTEM, Visit, told
from clusterra.control.people.drawn import new_id
from clusterra.core.change import Record
from clusterra.core.errors import ClusterraError, Refused, Unauthenticated
from clusterra.core.events.catalogue import people as facts
from clusterra.core.events.fact import Fact
from clusterra.core.people.credentials import ACCESS_FOR, SESSION, SESSION_FOR, TWO_TABS, Session
from clusterra.core.people.person import Person
from clusterra.ports import Clock, Sealer

ACCESS = "access"
REFRESH = "refresh"
"""Kinds of sealed text: the two tokens of a session."""

_REFUSALS = frozenset({"not-invited", "email-of-another", "email"})
"""Codes of refusals that are not for want of proof, and are told all the same."""


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


@dataclass(slots=True, kw_only=True)
class Sessions:
    directory: Directory
    sealer: Sealer
    clock: Clock

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
            await self.directory.commit(self.directory.home, puts=[replace(record, value=rotated)])
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

    def session_of(self, token: str, kind: str = ACCESS) -> Session:
        """Return whose token this is; raise Unauthenticated if it lets nobody in."""
        session = self.directory.session(self.sealer.opened(kind, token)["sid"])
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
        whose = self.directory.concerned(person.id if person else "")
        await self.directory.commit_to(whose, events=[draft])

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
        whose = self.directory.concerned(person.id, within)
        await self.directory.commit_to(whose, puts=puts, drops=drops, events=[draft])


def _ended() -> Unauthenticated:
    return Unauthenticated(
        "This session has ended.", hint="Sign in again: clusterra login", code="session-ended"
    )

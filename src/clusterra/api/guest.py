"""Who is asking, by what they show: a session's cookie, or a bearer of any kind.

Nothing is asked of the store and nothing is written here; it is in the way of every
request. Whether they may do what they ask is `api/admit.py`'s question.
"""

import hmac
from dataclasses import dataclass
from datetime import datetime

from clusterra.control.people.doing import Doer, Visit
from clusterra.control.people.people import People
from clusterra.core.access import ALL_SCOPES, Role, Scope
from clusterra.core.errors import Forbidden, Unauthenticated
from clusterra.core.people.credentials import TOKEN_PREFIX, Session, Token, hash_of
from clusterra.core.people.person import Person

SESSION, TOKEN, OPERATOR = "session", "token", "operator"


@dataclass(frozen=True, slots=True, kw_only=True)
class Guest:
    """Somebody we know, and how they were let in."""

    person: Person
    by: str
    visit: Visit
    scopes: frozenset[Scope] = ALL_SCOPES
    within: str = ""
    """The only workspace they were let into; empty is all of theirs."""

    credential: str = ""
    """Id of the session or token."""

    expires_at: datetime | None = None
    cookie: bool = False
    """Sent by a browser on its own account, so that it says nothing of who wanted the request."""

    def role_in(self, people: People, workspace: str) -> Role | None:
        if self.within not in ("", workspace):
            return None
        if self.by == OPERATOR:
            return Role.OWNER
        member = people.directory.membership(workspace, self.person.id)
        return member.role if member else None

    def workspaces(self, people: People) -> dict[str, Role]:
        """Return where they are, as what."""
        found = {each.id: self.role_in(people, each.id) for each in people.directory.workspaces}
        return {id: role for id, role in found.items() if role is not None}

    def doer(self, role: Role) -> Doer:
        return Doer(actor=self.person.actor, role=role, visit=self.visit)

    def check_may_open_session(self) -> None:
        """Raise Forbidden if a session, which reaches everything, were more than they have."""
        if lacking := ALL_SCOPES - self.scopes:
            raise Forbidden(
                f"Who signs in may also do what needs {', '.join(sorted(lacking))}; this token "
                "may not, and cannot let anybody in.",
                hint="Sign in first: clusterra login",
                code="scope",
            )

    def is_still_in(self, people: People) -> bool:
        """Say whether what they showed still lets them in."""
        now, directory = people.clock.now(), people.directory
        if directory.person(self.person.id) is None:
            return False
        if self.by == SESSION:
            return directory.session(self.credential) is not None
        if self.by == TOKEN:
            ends = self.expires_at
            return directory.has_token(self.credential) and (ends is None or now < ends)
        return True


@dataclass(slots=True, kw_only=True)
class Guests:
    people: People
    operator_token: str

    def known(self, *, authorization: str, cookie: str, visit: Visit) -> Guest | None:
        """Return who shows this; None if they show nothing. Raises Unauthenticated."""
        scheme, _, bearer = authorization.partition(" ")
        bearer = bearer.strip()
        if authorization and (scheme.lower() != "bearer" or not bearer):
            raise Unauthenticated(
                "The Authorization header of this call is not a bearer's.",
                hint="Send `Authorization: Bearer <token>`.",
                code="bad-token",
            )
        if bearer:
            return self._bearer(bearer, visit)
        return self._session(cookie, visit, cookie=True) if cookie else None

    def _bearer(self, bearer: str, visit: Visit) -> Guest:
        if hmac.compare_digest(bearer.encode(), self.operator_token.encode()):
            return Guest(person=self.people.operator, by=OPERATOR, visit=visit)
        if bearer.startswith(TOKEN_PREFIX):
            return self._token(bearer, visit)
        return self._session(bearer, visit, cookie=False)

    def _token(self, bearer: str, visit: Visit) -> Guest:
        directory = self.people.directory
        token = directory.token(hash_of(bearer))
        person = directory.person(token.person) if token else None
        if token is None or person is None:
            raise _invalid()
        if token.expires_at is not None and token.expires_at <= self.people.clock.now():
            raise Unauthenticated(
                f"The token {token.name or token.id} ended on {token.expires_at:%Y-%m-%d}.",
                hint="Make a new one: clusterra tokens create",
                code="token-expired",
            )
        self.people.uses.note(token, visit)
        return _by_token(token, person, visit)

    def _session(self, sealed: str, visit: Visit, *, cookie: bool) -> Guest:
        session = self.people.sessions.session_of(sealed)
        person = self.people.directory.person(session.person)
        if person is None:
            raise _invalid()
        return _by_session(session, person, visit, cookie=cookie)


def _by_token(token: Token, person: Person, visit: Visit) -> Guest:
    return Guest(
        person=person,
        by=TOKEN,
        visit=visit,
        scopes=token.scopes,
        within=token.within,
        credential=token.id,
        expires_at=token.expires_at,
    )


def _by_session(session: Session, person: Person, visit: Visit, *, cookie: bool) -> Guest:
    return Guest(
        person=person,
        by=SESSION,
        visit=visit,
        within=session.within,
        credential=session.id,
        expires_at=session.expires_at,
        cookie=cookie,
    )


def nobody() -> Unauthenticated:
    return Unauthenticated(
        "This call needs a token and came without one.",
        hint="Sign in with `clusterra login`, or send `Authorization: Bearer <token>`.",
    )


def _invalid() -> Unauthenticated:
    return Unauthenticated(
        "This token is not valid here.",
        hint="Make a new one with `clusterra tokens create`, or sign in with `clusterra login`.",
        code="bad-token",
    )

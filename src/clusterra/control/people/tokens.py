"""API tokens: made once, shown once, kept as hashes, revoked at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from clusterra.control.people.directory import Directory
from clusterra.control.people.doing import Doer, Visit, told
from clusterra.control.people.drawn import new_id, new_secret
from clusterra.core.access import Scope
from clusterra.core.change import Record
from clusterra.core.errors import NotFound
from clusterra.core.events.catalogue import admin as facts
from clusterra.core.people.credentials import TOKEN, TOKEN_PREFIX, Token, hash_of
from clusterra.core.people.person import Person
from clusterra.ports import Clock


@dataclass(slots=True, kw_only=True)
class Tokens:
    directory: Directory
    clock: Clock

    async def make(
        self,
        person: Person,
        *,
        name: str,
        scopes: frozenset[Scope],
        within: str,
        until: datetime | None,
        by: Doer,
    ) -> tuple[str, Token]:
        secret, now = new_secret(TOKEN_PREFIX), self.clock.now()
        token = Token(
            id=new_id("tok_", now),
            person=person.id,
            hash=hash_of(secret),
            name=name,
            scopes=scopes,
            within=within,
            created_at=now,
            created_by=by.name,
            expires_at=until,
        )
        fact = facts.AdminTokenCreated(**about(token, person, by.visit), expires_at=until)
        await self._tell(
            person, token, fact, by.actor, puts=[Record(kind=TOKEN, id=token.id, value=token)]
        )
        return secret, token

    async def revoke(self, person: Person, id: str, *, within: str, by: Doer) -> Token:
        """Make a token of somebody invalid; who was let into one workspace ends only its tokens."""
        return await self.directory.again(partial(self._revoke, person, id, within, by))

    async def _revoke(self, person: Person, id: str, within: str, by: Doer) -> Token:
        token = next((each for each in self.directory.tokens_of(person.id) if each.id == id), None)
        if token is None or within not in ("", token.within):
            raise NotFound(
                f"You have no token {id[:64]!r}.",
                hint="`clusterra tokens list` shows yours.",
                code="token-not-found",
            )
        fact = facts.AdminTokenRevoked(**about(token, person, by.visit))
        drops = [self.directory.record(TOKEN, id)]
        await self._tell(person, token, fact, by.actor, drops=drops)
        return token

    async def _tell(
        self,
        person: Person,
        token: Token,
        fact: Any,
        actor: str,
        *,
        puts: Sequence[Record[Token]] = (),
        drops: Sequence[Record[Token]] = (),
    ) -> None:
        draft = told(fact, actor=actor, subject=f"user/{person.email}", at=self.clock.now())
        whose = self.directory.concerned(person.id, token.within)
        await self.directory.commit_to(whose, puts=puts, drops=drops, events=[draft])


def about(token: Token, person: Person, visit: Visit) -> dict[str, Any]:
    """Return what every event about a token says."""
    return {
        "id": token.id,
        "name": token.name,
        "email": person.email,
        "scopes": tuple(sorted(token.scopes)),
        "address": visit.address,
        "agent": visit.agent,
    }

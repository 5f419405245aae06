"""Who is in which workspace, as what: invite, promote, remove; and who comes by themselves.

A person is made once, with a Linux user and a number that are theirs for ever. Where
they are and as what, changes; both is told in the ledger of the workspace.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from clusterra.control.people.directory import TRIES, Directory
from clusterra.control.people.doing import SYSTEM, Doer, told
from clusterra.control.people.drawn import new_id
from clusterra.control.people.endings import facts_of, let_in_by
from clusterra.core.access import Role
from clusterra.core.change import Record
from clusterra.core.errors import Conflict, Forbidden, NotFound, Refused
from clusterra.core.events.catalogue import people as facts
from clusterra.core.events.event import Draft
from clusterra.core.jobs.query import STATE_WORDS, Op, Query, Term
from clusterra.core.people.email import read_email
from clusterra.core.people.logins import check_login, names_for, next_uid
from clusterra.core.people.person import (
    EMAIL,
    LAST_UID,
    LOGIN,
    MEMBERSHIP,
    PERSON,
    Claimed,
    Identity,
    Membership,
    Person,
    membership_id,
)
from clusterra.core.people.rules import Granted, Rules, granted, is_by_rule
from clusterra.ports import Claims, Clock


@dataclass(slots=True, kw_only=True)
class Roster:
    directory: Directory
    clock: Clock
    clusters: Mapping[str, str] = field(default_factory=dict)
    """The workspace of each cluster."""

    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    """One change at a time: two owners who remove each other must not both find another left."""

    async def invite(
        self, workspace: str, email: str, role: Role, *, by: Doer, login: str = ""
    ) -> Person:
        """Put somebody into a workspace; they need not have signed in yet."""
        async with self._turn:
            return await self._invite(workspace, email, role, by, login)

    async def _invite(self, workspace: str, email: str, role: Role, by: Doer, login: str) -> Person:
        self.directory.workspace(workspace)
        _check_rank(by, role)
        email = read_email(email)
        person = self.directory.by_email(email)
        if person is not None:
            if login and login != person.login:
                raise Conflict(
                    f"{email} is the Linux user {person.login} already.",
                    hint="A person keeps their user: files and past jobs belong to it.",
                    code="has-login",
                )
            if here := self.directory.membership(workspace, person.id):
                if here.role is role:
                    return person
                raise Conflict(
                    f"{email} is in {workspace} already, as {here.role}.",
                    hint=f"Change it with: clusterra people role {email} {role}",
                    code="already-there",
                )
        if person is not None and not self.directory.workspaces_of(person.id):
            # Whoever had this address was removed everywhere; who has it now will say so when
            # they sign in.
            person = await self._known_as(person, None, person.name)
        person = person or await self.make(email, login=login)
        await self._join(person, Membership(**self._place(workspace, person, role, by.name)), by)
        return person

    async def change_role(self, workspace: str, who: str, role: Role, *, by: Doer) -> Person:
        async with self._turn:
            person, here = self.find(workspace, who)
            _check_rank(by, role)
            _check_rank(by, here.role)
            if role is not here.role:
                self._check_not_last(here, "become something else")
                await self._join(person, replace(here, role=role, by=by.name), by)
            return person

    async def remove(self, workspace: str, who: str, *, by: Doer) -> int:
        """Take somebody out of a workspace, and what let them in there.

        Returns how many of their jobs wait or run there: those go on.
        """
        async with self._turn:
            person, here = self.find(workspace, who)
            if by.actor != person.actor:
                _check_rank(by, here.role)
            self._check_not_last(here, "leave")
            return await self._leave(person, here, by)

    def find(self, workspace: str, who: str) -> tuple[Person, Membership]:
        """Return somebody in a workspace, by id or e-mail."""
        person = self.directory.person(who) or self.directory.by_email(who.strip().lower())
        here = self.directory.membership(workspace, person.id) if person else None
        if person is None or here is None:
            raise NotFound(
                f"There is no {who[:64]!r} in {workspace}.",
                hint="See who there is with `clusterra people list`; invite them with "
                "`clusterra people invite EMAIL`.",
                code="person-not-found",
            )
        return person, here

    async def make(self, email: str, *, login: str = "", name: str = "") -> Person:
        """Make a person, with a Linux user and a number nobody else has or had."""
        if login:
            check_login(login)
        for _ in range(TRIES):
            chosen = login or next(
                each for each in names_for(email) if not self.directory.is_login_taken(each)
            )
            if login and self.directory.is_login_taken(login):
                raise _taken(login)
            try:
                return await self._made(email, chosen, name)
            except Conflict:
                # Another process was quicker: with the e-mail, the name or the number.
                if found := self.directory.by_email(email):
                    return found
        raise Refused(f"No Linux user could be found for {email}.", hint="Try again.")

    async def _made(self, email: str, login: str, name: str) -> Person:
        store, now = self.directory.store, self.clock.now()
        last = await store.get(LAST_UID, "people", default=0)
        person = Person(
            id=new_id("usr_", now),
            email=email,
            login=login,
            uid=next_uid(last.value),
            created_at=now,
            name=name,
        )
        mine = Claimed(person=person.id)
        await self.directory.commit(
            self.directory.home,
            puts=[
                Record(kind=PERSON, id=person.id, value=person),
                Record(kind=EMAIL, id=email, value=mine),
                Record(kind=LOGIN, id=login, value=mine),
                replace(last, value=person.uid),
            ],
        )
        return person

    async def come(self, claims: Claims, rules: Sequence[Rules]) -> Person:
        """Return who has come back from the provider, with what its groups say brought up to date.

        Raises Forbidden for somebody who is nowhere, and for one who has the e-mail of another.
        """
        async with self._turn:
            return await self._come(claims, rules)

    async def _come(self, claims: Claims, rules: Sequence[Rules]) -> Person:
        email = read_email(claims.email)
        identity = Identity(issuer=claims.issuer, subject=claims.subject)
        person = self.directory.by_identity(identity)
        if person is None:
            person = self.directory.by_email(email)
            # Known by another issuer: this server has been given another provider since, whose
            # word for the address counts now.
            known = person.identity if person else None
            if known is not None and known.issuer == identity.issuer:
                raise Forbidden(
                    f"{email} belongs to somebody else at {claims.issuer}: the address was given"
                    " to another person there.",
                    hint="Ask an admin to remove and invite that address again.",
                    code="email-of-another",
                )
        # By the address that the provider vouches for now: whoever has left a domain has left
        # what it gave them, and keeps what somebody gave them.
        wanted = {each.workspace: granted(each, email, claims.groups) for each in rules}
        if person is None:
            if not any(wanted.values()):
                raise _uninvited(email)
            person = await self.make(email, name=claims.name)
        person = await self._known_as(person, identity, claims.name)
        for workspace, grant in wanted.items():
            await self._follow_rule(person, workspace, grant)
        if not self.directory.workspaces_of(person.id):
            raise _uninvited(email)
        return person

    async def _known_as(self, person: Person, identity: Identity | None, name: str) -> Person:
        known = replace(person, identity=identity, name=person.name or name)
        if known != person:
            record = self.directory.record(PERSON, person.id)
            await self.directory.commit(self.directory.home, puts=[replace(record, value=known)])
        return known

    async def _follow_rule(self, person: Person, workspace: str, grant: Granted | None) -> None:
        here = self.directory.membership(workspace, person.id)
        rule = Doer(actor=SYSTEM, role=Role.OWNER)
        if here is not None and not is_by_rule(here.by):
            return  # somebody decided this; a rule does not overrule them
        if grant is None:
            if here is not None:
                await self._leave(person, here, rule)
        elif here is None or (here.role, here.by) != (grant.role, grant.by):
            member = Membership(**self._place(workspace, person, grant.role, grant.by))
            await self._join(person, member, rule)

    def _place(self, workspace: str, person: Person, role: Role, by: str) -> dict[str, Any]:
        return {
            "workspace": workspace,
            "person": person.id,
            "role": role,
            "since": self.clock.now(),
            "by": by,
        }

    async def _join(self, person: Person, member: Membership, by: Doer) -> None:
        id = membership_id(member.workspace, person.id)
        old = self.directory.membership(member.workspace, person.id)
        record = (
            self.directory.record(MEMBERSHIP, id)
            if old
            else Record(kind=MEMBERSHIP, id=id, value=member)
        )
        fact = facts.UserAccessGranted(
            email=person.email,
            role=member.role,
            workspace=member.workspace,
            by_rule=member.by if is_by_rule(member.by) else "",
            login=person.login,
            uid=person.uid,
            address=by.visit.address,
            agent=by.visit.agent,
        )
        await self.directory.commit(
            member.workspace,
            puts=[replace(record, value=member)],
            events=[self._told(fact, person, by)],
        )

    async def _leave(self, person: Person, here: Membership, by: Doer) -> int:
        live_jobs = await self._live_jobs(person, here.workspace)
        # Again, if a token was used or a session refreshed in this moment.
        await self.directory.again(partial(self._left, person, here, by, live_jobs))
        return live_jobs

    async def _live_jobs(self, person: Person, workspace: str) -> int:
        theirs = Query(
            terms=(
                Term(field="user", op=Op.IS, values=(person.login,)),
                Term(field="state", op=Op.IS, values=STATE_WORDS["live"]),
            )
        )
        clusters = [each for each, its in self.clusters.items() if its == workspace]
        return sum([await self.directory.store.count(each, theirs) for each in clusters])

    async def _left(self, person: Person, here: Membership, by: Doer, live_jobs: int) -> None:
        directory = self.directory
        ended = await let_in_by(person, here.workspace, directory)
        if directory.membership(here.workspace, person.id) is None:
            return  # another process was quicker
        fact = facts.UserAccessRevoked(
            email=person.email,
            role=here.role,
            workspace=here.workspace,
            by_rule=here.by if is_by_rule(here.by) else "",
            left_live=live_jobs,
            address=by.visit.address,
            agent=by.visit.agent,
        )
        await directory.commit(
            here.workspace,
            drops=[
                directory.record(MEMBERSHIP, membership_id(here.workspace, person.id)),
                *ended,
            ],
            events=[
                self._told(fact, person, by),
                *(self._told(each, person, by) for each in facts_of(ended, person, by.visit)),
            ],
        )

    def _told(self, fact: Any, person: Person, by: Doer) -> Draft:
        return told(fact, actor=by.actor, subject=f"user/{person.email}", at=self.clock.now())

    def _check_not_last(self, here: Membership, what: str) -> None:
        if here.role is Role.OWNER and len(self.directory.owners(here.workspace)) == 1:
            raise Conflict(
                f"The only owner of {here.workspace} cannot {what}.",
                hint="Make somebody else an owner first: clusterra people role EMAIL owner",
                code="last-owner",
            )


def _check_rank(by: Doer, role: Role) -> None:
    """Nobody gives or takes more than they have."""
    if role.rank > by.role.rank:
        raise Forbidden(
            f"Only an owner gives or takes the role {role}; you are {by.role}.",
            hint="Ask an owner of this workspace.",
            code="role",
        )


def _taken(login: str) -> Conflict:
    return Conflict(
        f"The Linux user {login} belongs to somebody already.",
        hint="Choose another name, or leave it out.",
        code="login-taken",
    )


def _uninvited(email: str) -> Forbidden:
    return Forbidden(
        f"{email} is in no workspace here.",
        hint=f"Ask an admin to run: clusterra people invite {email}",
        code="not-invited",
    )

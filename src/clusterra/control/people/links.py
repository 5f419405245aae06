"""One-time links: the way in where there is no identity provider to ask."""

from dataclasses import dataclass
from datetime import datetime

from clusterra.control.people.directory import Directory
from clusterra.control.people.doing import Visit
from clusterra.control.people.drawn import new_secret
from clusterra.control.people.sessions import Opened, Sessions
from clusterra.core.change import Record
from clusterra.core.errors import ClusterraError, Conflict, Unauthenticated
from clusterra.core.people.credentials import LINK, Link, hash_of
from clusterra.core.people.person import Person
from clusterra.ports import Clock


@dataclass(slots=True, kw_only=True)
class Links:
    directory: Directory
    sessions: Sessions
    clock: Clock

    async def make(self, person: Person, *, within: str, made_by: str, until: datetime) -> str:
        """Return the code of a new one-time link."""
        code = new_secret()
        link = Link(person=person.id, within=within, expires_at=until, made_by=made_by)
        await self.directory.commit(
            self.directory.home, puts=[Record(kind=LINK, id=hash_of(code), value=link)]
        )
        return code

    async def owner(self, code: str) -> Person:
        """Return who a link is for, without using it; raise if it is no longer good."""
        return (await self._link(code))[1]

    async def use(self, code: str, *, visit: Visit) -> Opened:
        try:
            record, person = await self._link(code)
            await self._drop(record)
        except ClusterraError as error:
            await self.sessions.failed(error, visit, how="link")
            raise
        return await self.sessions.open(person, how="link", visit=visit, within=record.value.within)

    async def _link(self, code: str) -> tuple[Record[Link], Person]:
        empty = Link(person="", expires_at=datetime.min.replace(tzinfo=self.clock.now().tzinfo))
        record = await self.directory.store.get(LINK, hash_of(code), default=empty)
        link, person = record.value, self.directory.person(record.value.person)
        if person is None or link.expires_at <= self.clock.now():
            raise _link_used()
        if not self.directory.is_in(person.id, link.within):
            raise _link_used()  # they have been removed since
        return record, person

    async def _drop(self, record: Record[Link]) -> None:
        """Drop a link at the version it was read at: of two who come at once, one is let in."""
        try:
            await self.directory.commit(self.directory.home, drops=[record])
        except Conflict:
            raise _link_used() from None


def _link_used() -> Unauthenticated:
    return Unauthenticated(
        "This sign-in link has been used, or its time is over.",
        hint="Get a new one: `clusterra people link` for yourself, or ask an admin.",
        code="link-used",
    )

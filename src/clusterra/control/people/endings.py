"""What ends with somebody's place in a workspace: all that let them in there and nowhere else."""

from collections.abc import Iterable, Iterator
from typing import Any

from clusterra.control.people.directory import Directory
from clusterra.control.people.doing import Visit
from clusterra.control.people.tokens import about
from clusterra.core.change import Record
from clusterra.core.events.catalogue.admin import AdminTokenRevoked
from clusterra.core.events.catalogue.people import UserLogout
from clusterra.core.events.fact import Fact
from clusterra.core.people.credentials import LINK, SESSION, TOKEN, Session, Token
from clusterra.core.people.person import Person


async def let_in_by(person: Person, workspace: str, directory: Directory) -> list[Record[Any]]:
    """Return the tokens, sessions and links that are of no use outside this workspace."""
    links = await directory.store.list(LINK)
    nowhere_else = len(directory.workspaces_of(person.id)) == 1
    theirs: list[Record[Any]] = [
        *(directory.record(TOKEN, each.id) for each in directory.tokens_of(person.id)),
        *(directory.record(SESSION, each.id) for each in directory.sessions_of(person.id)),
        *(link for link in links if link.value.person == person.id),
    ]
    return [each for each in theirs if nowhere_else or each.value.within == workspace]


def facts_of(ended: Iterable[Record[Any]], person: Person, visit: Visit) -> Iterator[Fact]:
    """Yield what is to be told of them; a link that nobody used is not worth telling."""
    for record in ended:
        match record.value:
            case Token() as token:
                yield AdminTokenRevoked(**about(token, person, visit))
            case Session() as session:
                yield UserLogout(
                    email=person.email,
                    address=visit.address,
                    agent=visit.agent,
                    how=session.how,
                    why="removed",
                )

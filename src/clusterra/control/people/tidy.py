"""Forget what has run out: sessions, links and codes that let nobody in any more."""

from typing import Any

from clusterra.control.people.people import People
from clusterra.core.change import Record
from clusterra.core.people.credentials import DEVICE, LINK


async def tidy(people: People) -> bool:
    now, directory = people.clock.now(), people.directory
    kept: list[Record[Any]] = [*await people.store.list(LINK), *await people.store.list(DEVICE)]
    over = [record for record in kept if record.value.expires_at <= now]
    if over:
        await directory.commit(people.home, drops=over)
    if sessions := directory.expired_sessions(now):
        await directory.commit(people.home, drops=sessions)
    return False

"""That tokens and keys were used, on its way to the store.

Noted in memory and written now and then, so that letting somebody in writes nothing;
that one was used for the first time is told soon.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from clusterra.control.people.directory import Directory
from clusterra.control.people.doing import Visit, told
from clusterra.control.people.tokens import about
from clusterra.core.change import Kind
from clusterra.core.errors import Conflict
from clusterra.core.events.catalogue import admin as facts
from clusterra.core.events.event import Draft
from clusterra.core.people.credentials import CLUSTER_KEY, TOKEN, ClusterKey, Token
from clusterra.ports import Clock

OFTEN_ENOUGH = timedelta(minutes=1)
"""A use within this of the last one that was noted is not noted again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Use:
    what: Token | ClusterKey
    at: datetime
    visit: Visit


@dataclass(slots=True, kw_only=True)
class Uses:
    directory: Directory
    clock: Clock
    workspace_of: Mapping[str, str]
    """Of each cluster."""

    wake: Callable[[], None] = lambda: None
    """Have it written now: something was used for the first time."""

    _noted: dict[str, _Use] = field(default_factory=dict)

    def note(self, used: Token | ClusterKey, visit: Visit) -> None:
        now = self.clock.now()
        noted = self._noted.get(used.id)
        last = noted.at if noted else used.last_used_at
        if last is not None and now - last < OFTEN_ENOUGH:
            return
        if noted:  # not written yet: where the first one came from is what will be told
            visit = noted.visit
        self._noted[used.id] = _Use(what=used, at=now, visit=visit)
        if last is None:
            self.wake()

    async def write(self) -> bool:
        """Write what was noted; it is lost with the process, and then noted again."""
        noted, self._noted = self._noted, {}
        for use in noted.values():
            await self._write(use)
        return bool(noted)

    async def _write(self, use: _Use) -> None:
        kind: Kind[Any] = TOKEN if isinstance(use.what, Token) else CLUSTER_KEY
        try:
            record = self.directory.record(kind, use.what.id)
        except KeyError:
            return  # revoked meanwhile
        first = record.value.last_used_at is None
        puts = [replace(record, value=replace(record.value, last_used_at=use.at))]
        events = [self._first(use)] if first else []
        # Revoked in this moment, or written by another process: then there is nothing to write.
        with suppress(Conflict):
            await self.directory.commit_to(self._whose(use.what), puts=puts, events=events)

    def _whose(self, used: Token | ClusterKey) -> list[str]:
        if isinstance(used, Token):
            return self.directory.concerned(used.person, used.within)
        return [self.workspace_of[used.cluster]]

    def _first(self, use: _Use) -> Draft:
        match use.what:
            case Token() as token:
                person = self.directory.person(token.person)
                assert person is not None
                fact: Any = facts.AdminTokenFirstUsed(**about(token, person, use.visit))
                return told(fact, actor=person.actor, subject=f"user/{person.email}", at=use.at)
            case ClusterKey() as key:
                fact = facts.AdminKeyFirstUsed(
                    id=key.id,
                    name=key.name,
                    cluster=key.cluster,
                    use=key.use,
                    address=use.visit.address,
                    agent=use.visit.agent,
                )
                return told(fact, actor=f"system:{key.cluster}", subject=f"key/{key.id}", at=use.at)

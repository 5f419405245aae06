"""What becomes of one page of events, gathered for one commit."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypeVar

from clusterra.core.automation.firing import DUE, FIRING, Firing, due_key, ended_key
from clusterra.core.automation.rule import Rule
from clusterra.core.change import Change, Kind, Record
from clusterra.core.events.event import Draft
from clusterra.ports import Store

T = TypeVar("T")


@dataclass(slots=True, kw_only=True)
class Page:
    store: Store
    ledger: str
    now: datetime
    due: list[Record[Firing]] = field(default_factory=list)
    events: list[Draft] = field(default_factory=list)
    dropped: dict[str, Record[Rule]] = field(default_factory=dict)
    _puts: dict[tuple[str, str], Record[Any]] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not (self._puts or self.due or self.events or self.dropped)

    async def get(self, kind: Kind[T], id: str, default: T) -> Record[T]:
        """Return a record as it will be."""
        return self._puts.get((kind.name, id)) or await self.store.get(kind, id, default)

    async def put(self, kind: Kind[T], id: str, value: T) -> None:
        self.replace(await self.get(kind, id, value), value)

    def replace(self, record: Record[T], value: T) -> None:
        self._puts[record.kind.name, record.id] = replace(record, value=value)

    def begin(self, firing: Firing) -> None:
        self.due.append(Record(kind=DUE, id=due_key(firing), value=firing))

    def ended(self, firing: Firing) -> None:
        record: Record[Firing] = Record(kind=FIRING, id=ended_key(firing), value=firing)
        self._puts[record.kind.name, record.id] = record

    def change(self, position: Record[int], lease: Record[Any]) -> Change:
        puts: Iterable[Record[Any]] = (position, *self._puts.values(), *self.due)
        return Change(
            puts=list(puts),
            drops=list(self.dropped.values()),
            events=self.events,
            unmoved=[lease],
        )

"""What a decision wants written: records, jobs, and the events that tell of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from clusterra.core.events.event import Draft
from clusterra.core.jobs.job import Job
from clusterra.core.webhooks.delivery import Attempt, Delivery

T = TypeVar("T")


NO_LEDGER = ""
"""What a commit names whose records belong to no ledger."""


@dataclass(frozen=True, slots=True)
class Kind(Generic[T]):
    """A sort of record, and the type its values have."""

    name: str
    type: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Record(Generic[T]):
    kind: Kind[T]
    id: str
    value: T
    version: int = 0
    """0 means the record is not stored yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Records, jobs and events that become true together or not at all."""

    puts: Sequence[Record[Any]] = ()

    drops: Sequence[Record[Any]] = ()
    """Records to forget, at the version they were read at."""

    jobs: Sequence[Job] = ()
    """Jobs as last observed. They carry no version: one observer per cluster writes them."""

    events: Sequence[Draft] = ()
    """In the order in which the ledger is to number them. One whose id it has is left out."""

    deliveries: Sequence[Delivery] = ()
    """As they are from now on, each with the version it was read at."""

    attempts: Sequence[Attempt] = ()
    unmoved: Sequence[Record[Any]] = ()
    """Records that must be as they were read, and stay so: the lease of whoever acts."""

    def __bool__(self) -> bool:
        return bool(
            self.puts or self.drops or self.jobs or self.events or self.deliveries or self.attempts
        )

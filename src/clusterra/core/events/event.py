"""What the ledger holds: a fact, when it happened, who did it, what it is about.

`catalogue` says which facts there are; `derive` finds them in what was observed;
`chain` makes the ledger tamper-evident. How an event is spelled in bytes is the
store's affair (`adapters/envelope.py`): those bytes are kept and never made again.
"""

from dataclasses import dataclass
from datetime import datetime

from clusterra.core.cost.books import Entry
from clusterra.core.events.fact import Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """An event before the ledger has numbered it."""

    id: str
    """The same for everybody who sees the same fact; the ledger takes each id once."""

    fact: Fact
    at: datetime
    """When it happened, which may be long before anybody saw it."""

    actor: str
    """The person who acted, or the part of the system: `user:ana@lab.org`, `system:slurm`."""

    subject: str
    """What it is about: `job/41`, `node/w1`, `cluster`."""

    correlation: str = ""
    """What ties events of one undertaking together: a run, an array."""

    entries: tuple[Entry, ...] = ()
    """What it adds to the books, where it tells of money: with the event, and as often."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """An event as it stands in the ledger."""

    cluster: str
    seq: int
    id: str
    type: str
    subject: str
    actor: str
    at: datetime
    body: bytes
    """The CloudEvents JSON that the ledger's hashes are made of."""

    chain: bytes
    """The hash chain up to and with this event: see `chain`."""

    owner: str = ""
    """The Linux user whose job it is about, where it is about one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventQuery:
    """Which events, from where."""

    after: int = 0
    """Only events with a higher sequence number."""

    types: tuple[str, ...] = ()
    """Globs as `job.*`; none is every type."""

    subject: str = ""
    """Exactly this, as `job/43`."""

    actor: str = ""
    since: datetime | None = None
    until: datetime | None = None
    """By when it happened: from `since` on, before `until`."""

    limit: int = 100

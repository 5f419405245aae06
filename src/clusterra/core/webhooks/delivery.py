"""One event for one endpoint: a row that outlives the process, until it was told or given up."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class DeliveryState(StrEnum):
    PENDING = "pending"
    """Not tried yet."""

    RETRY = "retry"
    """Tried, and will be again."""

    OK = "ok"
    DEAD = "dead"
    """Given up, and why. It can be replayed."""

    KEPT = "kept"
    """Its endpoint was paused or disabled when it happened."""

    @property
    def open(self) -> bool:
        return self in (DeliveryState.PENDING, DeliveryState.RETRY)


OPEN = tuple(state for state in DeliveryState if state.open)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    endpoint: str
    event_id: str
    """With `endpoint` it names the delivery; receivers see it as `webhook-id`, at every try."""

    ledger: str
    seq: int
    type: str
    subject: str
    at: datetime
    """When the event happened."""

    made_at: datetime
    state: DeliveryState = DeliveryState.PENDING
    due: datetime | None = None
    """When it is to be tried; None when it is not."""

    attempts: int = 0
    """Of this round; a replay begins a new one."""

    replays: int = 0
    ended_at: datetime | None = None
    status: int | None = None
    """What the last attempt was answered; None if it was not."""

    why: str = ""
    """What went wrong last, in words."""

    took_ms: int | None = None
    """How long the last attempt took."""

    version: int = 0
    """0 means it is not stored yet."""


def replayed(delivery: Delivery, now: datetime) -> Delivery:
    """Return it as something to be tried again from the beginning."""
    return replace(
        delivery,
        state=DeliveryState.PENDING,
        due=now,
        attempts=0,
        # What was only kept is told for the first time.
        replays=delivery.replays + (delivery.state is not DeliveryState.KEPT),
        ended_at=None,
        why="",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Timings:
    """Where the time of an attempt went, in milliseconds; None for what it did not come to."""

    dns_ms: float | None = None
    connect_ms: float | None = None
    tls_ms: float | None = None
    first_byte_ms: float | None = None
    total_ms: float = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One try, as it went. Never changed."""

    endpoint: str
    event_id: str
    at: datetime
    number: int
    """Counted over all replays, from 1."""

    request_id: str
    """In the header `clusterra-request-id` too, so that both sides can find it in their logs."""

    status: int | None = None
    failure: str = ""
    """The kind of failure where there was no answer: `dns`, `connect`, `tls`, `timeout`, …"""

    why: str = ""
    timings: Timings = field(default_factory=Timings)
    remote: str = ""
    """The address that was dialled; only for whoever runs the server."""

    snippet: str = ""
    """The first 4 kB of the answer; only for whoever made the endpoint."""

    replay: bool = False
    together: int = 1
    """How many events were told in one message."""


class DeliveryOrder(StrEnum):
    DUE = "due"
    """The first due first; what is not to be tried is left out."""

    LEDGER = "ledger"
    """The oldest first, as they were made."""

    NEWEST = "newest"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryQuery:
    endpoint: str
    states: tuple[DeliveryState, ...] = ()
    """None is every state."""

    types: tuple[str, ...] = ()
    """Globs, as of events."""

    due_by: datetime | None = None
    """Only what is due by then."""

    tried: bool | None = None
    """False: only what was not tried yet in this round; True: only what was."""

    since: datetime | None = None
    until: datetime | None = None
    """By when the event happened: from `since` on, before `until`."""

    order: DeliveryOrder = DeliveryOrder.NEWEST
    after: tuple[int, str, int] | None = None
    """Of the last one of the page before: `place_of` it. Not for the order of what is due."""

    limit: int = 100


def place_of(delivery: Delivery) -> tuple[int, str, int]:
    """Return where a delivery stands among those of its endpoint, in the order they were made."""
    # In whole numbers: a float loses the last microsecond.
    return (delivery.made_at - _EPOCH) // _MICROSECOND, delivery.ledger, delivery.seq

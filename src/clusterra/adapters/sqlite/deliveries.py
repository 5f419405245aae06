"""Deliveries in SQLite: written together, found by index however many have ended."""

import sqlite3
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from clusterra.adapters.sqlite.find import Binds, glob
from clusterra.adapters.sqlite.moments import moment_of, number_of
from clusterra.core.errors import Conflict
from clusterra.core.webhooks.delivery import (
    Attempt,
    Delivery,
    DeliveryOrder,
    DeliveryQuery,
    DeliveryState,
)

BATCH = 1_000
"""Most deliveries let go of in one transaction: others wait for it."""

_encode = msgspec.json.Encoder().encode
as_attempt = msgspec.json.Decoder(Attempt).decode

_NAMED = ("endpoint", "event_id")
_REST = (
    *("ledger", "seq", "type", "subject", "at", "made_at", "state", "due", "attempts", "replays"),
    *("ended_at", "status", "why", "took_ms", "over"),
)
_READ = (*_NAMED, *_REST[:-1], "version")
_TIMES = ("at", "made_at", "due", "ended_at")
_COLUMNS = ", ".join(_READ)

_INSERT = (
    f"insert into delivery ({', '.join((*_REST, *_NAMED))}, version)"  # noqa: S608
    f" values ({', '.join('?' * (len(_REST) + len(_NAMED)))}, 1 + ?) on conflict do nothing"
)
_UPDATE = (
    "update delivery set version = version + 1, "  # noqa: S608
    + ", ".join(f"{name} = ?" for name in _REST)
    + " where endpoint = ? and event_id = ? and version = ?"
)
_ADD_ATTEMPT = (
    "insert into attempt (endpoint, event_id, number, body) values (?, ?, ?, ?)"
    " on conflict do nothing"
)

ONE = f"select {_COLUMNS} from delivery where endpoint = ? and event_id = ?"  # noqa: S608
ATTEMPTS = "select body from attempt where endpoint = ? and event_id = ? order by number"

LANES = """
with recursive lane (endpoint) as (
    select min(endpoint) from delivery indexed by delivery_due where due is not null
    union all
    select (
        select min(endpoint) from delivery indexed by delivery_due
        where due is not null and endpoint > lane.endpoint
    ) from lane where endpoint is not null
)
select endpoint, (
    select min(due) from delivery indexed by delivery_due
    where due is not null and endpoint = lane.endpoint and (attempts > 0) = tried
) as first from lane, (select 0 as tried union all select 1) where first is not null
"""
"""From each endpoint to the next one, past all that waits for the same. Two rows for an endpoint
that has both: what was tried already, and what was not."""


def put(db: sqlite3.Connection, deliveries: Sequence[Delivery], tries: Sequence[Attempt]) -> None:
    """Write deliveries and attempts. Raises Conflict if one is not as it was read."""
    new = [_row(each) for each in deliveries if not each.version]
    known = [_row(each) for each in deliveries if each.version]
    if new and db.executemany(_INSERT, new).rowcount != len(new):
        raise Conflict(_told(deliveries, "made by somebody else already"))
    if known and db.executemany(_UPDATE, known).rowcount != len(known):
        raise Conflict(_told(deliveries, "changed by somebody else"))
    added = [(each.endpoint, each.event_id, each.number, _encode(each)) for each in tries]
    if added and db.executemany(_ADD_ATTEMPT, added).rowcount != len(added):
        raise Conflict("An attempt with this number was written by somebody else.")


def found(query: DeliveryQuery) -> tuple[str, Binds]:
    """Return the statement for the deliveries that a query means.

    It has an arm for each part of an index that stands in the order asked for; each arm ends
    at the limit, and so do they all together.
    """
    condition, binds = _condition(query)
    if query.order is DeliveryOrder.DUE:
        index, order = "delivery_due", "due, made_at, ledger, seq"
        tried = (False, True) if query.tried is None else (query.tried,)
        parts = [f"due is not null and (attempts > 0) = {each:d}" for each in tried]
        if query.states:
            condition += f" and state in ({', '.join(map(_quoted, query.states))})"
    else:
        newest = query.order is DeliveryOrder.NEWEST
        way, past = ("desc", "<") if newest else ("asc", ">")
        index, order = "delivery_place", f"made_at {way}, ledger {way}, seq {way}"
        parts = [f"state = {_quoted(each)}" for each in sorted(set(query.states or DeliveryState))]
        if query.tried is not None:
            condition += f" and (attempts > 0) = {query.tried:d}"
        if query.after is not None:
            condition += f" and (made_at, ledger, seq) {past} (:made_at, :ledger, :seq)"
            binds["made_at"], binds["ledger"], binds["seq"] = query.after
    arms = [
        f"select * from (select {_COLUMNS} from delivery indexed by {index}"  # noqa: S608
        f" where {part} and {condition} order by {order} limit :limit)"
        for part in parts
    ]
    return f"{' union all '.join(arms)} order by {order} limit :limit", binds


def tallied(endpoint: str, since: datetime | None) -> tuple[str, Binds]:
    """Return the statement for how many deliveries are in each state."""
    binds: Binds = {"endpoint": endpoint}
    condition = "endpoint = :endpoint"
    if since is not None:
        condition += " and at >= :since"
        binds["since"] = number_of(since)
    return (
        "select state, count(*) from delivery indexed by delivery_place"  # noqa: S608
        f" where {condition} group by state"
    ), binds


def forget(db: sqlite3.Connection, endpoint: str, ended_before: datetime | None) -> int:
    """Let go of one batch, and say how many. Fewer than a batch means that it was the last."""
    binds: Binds = {"endpoint": endpoint, "limit": BATCH}
    if ended_before is None:
        which = "endpoint = :endpoint"
    else:
        which = "over < :before and (endpoint = :endpoint or :endpoint = '')"
        binds["before"] = number_of(ended_before)
    gone = db.execute(
        f"select key, endpoint, event_id from delivery where {which} limit :limit",  # noqa: S608
        binds,
    ).fetchall()
    db.executemany(
        "delete from attempt where endpoint = ? and event_id = ?", [row[1:] for row in gone]
    )
    db.executemany("delete from delivery where key = ?", [row[:1] for row in gone])
    if ended_before is None and len(gone) < BATCH:
        # Tries of what was never a delivery.
        db.execute("delete from attempt where endpoint = ?", (endpoint,))
    return len(gone)


def as_delivery(row: Any) -> Delivery:
    values = dict(zip(_READ, row, strict=True))
    for name in _TIMES:
        if values[name] is not None:
            values[name] = moment_of(values[name])
    values["state"] = DeliveryState(values["state"])
    return Delivery(**values)


def _row(delivery: Delivery) -> tuple[Any, ...]:
    made_at = number_of(delivery.made_at)
    ended_at = None if delivery.ended_at is None else number_of(delivery.ended_at)
    over = made_at if delivery.state is DeliveryState.KEPT else ended_at
    return (
        delivery.ledger,
        delivery.seq,
        delivery.type,
        delivery.subject,
        number_of(delivery.at),
        made_at,
        delivery.state.value,
        None if delivery.due is None else number_of(delivery.due),
        delivery.attempts,
        delivery.replays,
        ended_at,
        delivery.status,
        delivery.why,
        delivery.took_ms,
        None if delivery.state.open else over,
        delivery.endpoint,
        delivery.event_id,
        delivery.version,
    )


def _condition(query: DeliveryQuery) -> tuple[str, Binds]:
    """Return what a delivery must be, whatever its state and page."""
    binds: Binds = {"endpoint": query.endpoint, "limit": query.limit}
    parts = ["endpoint = :endpoint"]
    if query.types:
        binds.update({f"t{n}": glob(text) for n, text in enumerate(query.types)})
        parts.append(f"({' or '.join(f'type glob :t{n}' for n in range(len(query.types)))})")
    for name, compared in (("due_by", "due <="), ("since", "at >="), ("until", "at <")):
        if (moment := getattr(query, name)) is not None:
            parts.append(f"{compared} :{name}")
            binds[name] = number_of(moment)
    return " and ".join(parts), binds


def _quoted(state: DeliveryState) -> str:
    return f"'{state.value}'"


def _told(deliveries: Sequence[Delivery], what: str) -> str:
    if len(deliveries) == 1:
        [only] = deliveries
        return f"The delivery of {only.event_id} to {only.endpoint} was {what}."
    return f"One of {len(deliveries)} deliveries was {what}."

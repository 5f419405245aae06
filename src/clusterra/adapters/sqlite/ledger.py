"""The ledger in SQLite: numbering, spelling and hashing inside the store's transaction.

Whatever of it is new is added to the books too (`books`), and nothing else is.

The heads are read in every transaction anew, so that nothing that happened to the
file in between can be carried on from memory.
"""

import json
import sqlite3
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from clusterra.adapters.envelope import owner_of, spell
from clusterra.adapters.sqlite.books import Posting
from clusterra.adapters.sqlite.find import Binds, glob
from clusterra.adapters.sqlite.moments import moment_of, number_of
from clusterra.core.errors import Conflict, Refused
from clusterra.core.events.chain import SIZE, Growing, Head
from clusterra.core.events.event import Draft, Event, EventQuery

HEAD = "select size, chain, peaks from ledger where cluster = ?"
CUT = "select sealed, sealed_chain, sealed_peaks from ledger where cluster = ?"
_COLUMNS = "seq, id, type, subject, actor, at, body, chain"
AT = (
    f"select {_COLUMNS} from event"  # noqa: S608
    " where cluster = ? and seq in (select value from json_each(?))"
)
_CHAIN = "select chain from event where cluster = ? and seq = ?"
_LAST = "select seq, chain from event where cluster = ? order by seq desc limit 1"
_SEAL = "update ledger set sealed = ?, sealed_chain = ?, sealed_peaks = ? where cluster = ?"
_PUT_HEAD = (
    "insert into ledger (cluster, size, chain, peaks) values (?, ?, ?, ?) on conflict do update"
    " set size = excluded.size, chain = excluded.chain, peaks = excluded.peaks"
)
_HAS = "select id from event_id where cluster = ? and id in (select value from json_each(?))"
_PUT_EVENT = "insert into event values (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_PUT_ID = "insert into event_id values (?, ?)"
_IN_TIME = "from event indexed by event_at where cluster = :cluster"


class Appending:
    """The ledgers during one transaction. `finish` writes their heads, and the books; nothing
    outlives it."""

    def __init__(self, db: sqlite3.Connection, recorded_at: datetime) -> None:
        self._db = db
        self._recorded_at = recorded_at
        self._heads: dict[str, Head] = {}
        self._before: dict[str, Head] = {}
        self._posting = Posting(db)

    def append(self, cluster: str, drafts: Sequence[Draft]) -> int:
        """Number and write what the ledger does not have, and return how far it reaches.

        The last step of a change: what is noted here until `finish`, no savepoint takes back.
        """
        head = self._head(cluster)
        if not drafts or not (fresh := self._fresh(cluster, drafts)):
            return head.size
        if head is self._before[cluster]:
            self._check(cluster, head)
        growing = Growing(head)
        rows = []
        for seq, draft in enumerate(fresh, start=head.size + 1):
            body = spell(draft, cluster=cluster, seq=seq, recorded_at=self._recorded_at)
            rows.append(
                (
                    cluster,
                    seq,
                    draft.id,
                    draft.fact.type,
                    draft.subject,
                    draft.actor,
                    number_of(draft.at),
                    body,
                    growing.add(body),
                )
            )
        self._db.executemany(_PUT_ID, [(cluster, draft.id) for draft in fresh])
        self._db.executemany(_PUT_EVENT, rows)
        self._posting.add(cluster, [entry for draft in fresh for entry in draft.entries])
        self._heads[cluster] = growing.head()
        return growing.size

    def seal(self, cluster: str, cut: Head) -> None:
        """Let go of the events up to `cut`."""
        sealed = as_head(self._db.execute(CUT, (cluster,)).fetchone()).size
        row = self._db.execute(_CHAIN, (cluster, cut.size)).fetchone()
        if cut.size <= sealed or row != (cut.chain,):
            raise Conflict(
                f"The ledger of {cluster} cannot be sealed up to event {cut.size}: it is sealed up"
                f" to {sealed}, and {'hashes to something else' if row else 'has no event'} there.",
                hint="Look at it with: clusterra events verify",
            )
        self._db.execute(_SEAL, (cut.size, cut.chain, b"".join(cut.peaks), cluster))
        self._db.execute("delete from event where cluster = ? and seq <= ?", (cluster, cut.size))

    def finish(self) -> dict[str, int]:
        """Write the heads and the books; return how far each ledger reaches that has grown."""
        grown = {
            cluster: head for cluster, head in self._heads.items() if head != self._before[cluster]
        }
        for cluster, head in grown.items():
            self._db.execute(_PUT_HEAD, (cluster, head.size, head.chain, b"".join(head.peaks)))
        self._posting.finish()
        return {cluster: head.size for cluster, head in grown.items()}

    def _head(self, cluster: str) -> Head:
        if cluster not in self._heads:
            head = as_head(self._db.execute(HEAD, (cluster,)).fetchone())
            self._heads[cluster] = self._before[cluster] = head
        return self._heads[cluster]

    def _check(self, cluster: str, head: Head) -> None:
        """Refuse to go on from a head that is not the last event's: history would fork there."""
        cut = as_head(self._db.execute(CUT, (cluster,)).fetchone())
        last = self._db.execute(_LAST, (cluster,)).fetchone() or (cut.size, cut.chain)
        if last != (head.size, head.chain):
            raise Refused(
                f"The ledger of {cluster} says that it ends with event {head.size}, and its last"
                f" event is {last[0]}{' with another hash' * (last[0] == head.size)}.",
                hint="Somebody has changed the database. Put a good copy back; what is wrong with"
                " this one says: clusterra events verify",
                code="ledger-broken",
            )

    def _fresh(self, cluster: str, drafts: Sequence[Draft]) -> list[Draft]:
        ids = json.dumps([draft.id for draft in drafts])
        has = {id for (id,) in self._db.execute(_HAS, (cluster, ids))}
        fresh = []
        for draft in drafts:
            if draft.id not in has:
                has.add(draft.id)
                fresh.append(draft)
        return fresh


def as_head(row: Any) -> Head:
    if row is None:
        return Head()
    size, chain, peaks = row
    return Head(
        size=size,
        chain=chain,
        peaks=tuple(peaks[at : at + SIZE] for at in range(0, len(peaks), SIZE)),
    )


def as_event(cluster: str, row: Any) -> Event:
    seq, id, type, subject, actor, at, body, chain = row
    return Event(
        cluster=cluster,
        seq=seq,
        id=id,
        type=type,
        subject=subject,
        actor=actor,
        at=moment_of(at),
        body=body,
        chain=chain,
        owner=owner_of(type, body),
    )


def found(cluster: str, query: EventQuery) -> tuple[str, Binds]:
    """Return the statement for the events that a query means."""
    binds: Binds = {"cluster": cluster, "after": query.after, "limit": query.limit}
    parts, begin = ["cluster = :cluster"], ":after"
    if query.types:
        parts.append(_is_like(query.types, binds))
    for name in ("subject", "actor"):
        if value := getattr(query, name):
            parts.append(f"{name} = :{name}")
            binds[name] = value
    # Where to begin and to end is read from the index of times, and not from every event: what
    # happened is told nearly in the order it happened.
    if query.since is not None:
        begin = f"max(:after, (select min(seq) {_IN_TIME} and at >= :since) - 1)"
        parts.append("+at >= :since")
        binds["since"] = number_of(query.since)
    if query.until is not None:
        parts += [f"seq <= (select max(seq) {_IN_TIME} and at < :until)", "+at < :until"]
        binds["until"] = number_of(query.until)
    where = " and ".join([*parts, f"seq > {begin}"])
    return f"select {_COLUMNS} from event where {where} order by seq limit :limit", binds  # noqa: S608


def _is_like(globs: tuple[str, ...], binds: Binds) -> str:
    """Return the condition for types. One exact type has an index; `+` keeps others from it,
    because rows found by several types would have to be sorted before the first is known."""
    arms = []
    for number, text in enumerate(globs):
        name = f"type{number}"
        if "*" in text:
            arms.append(f"+type glob :{name}")
            binds[name] = glob(text)
        else:
            arms.append(f"type = :{name}" if len(globs) == 1 else f"+type = :{name}")
            binds[name] = text
    return f"({' or '.join(arms)})"
